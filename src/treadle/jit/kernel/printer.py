"""A kernel as text, which `parser` reads: one line for each node, blocks indented.

    kernel   = "kernel" attribute* NL node* "return" values NL ["boxed" numbers NL]
               ["hoisted" values NL]
    node     = value ["as" dim] ":" type "=" (op | constant)     a node with one result
             | value "=" (loop | branch | call)                  `result n of` reads each of theirs
    loop     = "loop" ["trip" value] ["length" dim] ["extent" dim] ["while" value]
               ["carries" (value "=" value),*] ["at" path] NL
               node* ["while" value NL] ["yield" values NL]
               ("stack" value "along" axis ["from the last"] ["uncounted"] NL)*
    branch   = "if" value NL node* "yield" values NL "else" NL node* "yield" values NL
    call     = "host call" operator ["<" attributes ">"] "(" operand,* ")" "->" "(" kind,* ")"
    operand  = ["boxed"] value | "_"                             an absent operand
    kind     = "boxed" | dtype "[" (dim | "?"),* "]" | "_"       "?": the call decides; "_": unread
    type     = dtype "[" dim,* "]"
    dim      = integer | name        `%4 as e0` names the dim whose extent is the scalar %4
    op       = words of `op_text.TEMPLATES`, then the operands
    constant = "constant" elements   see `literal_text`

`carries` pairs each carried argument of the body with its initial value. Everything that machine
code depends on is printed. The types of a called operator's values are not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count

from treadle.jit.kernel.ir import (
    Block,
    Branch,
    Constant,
    HostCall,
    Kernel,
    Kind,
    Loop,
    Node,
    Number,
    SymbolicDim,
)
from treadle.jit.kernel.literal_text import write_attributes, write_elements
from treadle.jit.kernel.op_text import write_op
from treadle.jit.kernel.traversal import all_nodes, dims_of


def show_kernel(kernel: Kernel, *, whole: bool = False) -> str:
    """Print the kernel; `whole`: large constants too, so that it can be parsed again."""
    return "\n".join(_Printer(kernel, whole).kernel())


class _Printer:
    """The names of nodes and dims that were printed so far."""

    def __init__(self, kernel: Kernel, whole: bool) -> None:
        self._kernel, self._whole = kernel, whole
        self._names: dict[Node, str] = {}
        self._dims: dict[SymbolicDim, str] = {}
        self._sources: dict[Node, list[SymbolicDim]] = {}
        self._numbers = count()
        for node in all_nodes(kernel.main):
            for dim in dims_of(node):
                self._name_dim(dim)

    def _name_dim(self, dim: SymbolicDim) -> None:
        if dim in self._dims:
            return
        taken = sum(each.name == dim.name for each in self._dims)
        self._dims[dim] = f"{dim.name}'{taken}" if taken else dim.name
        if dim.source is not None:
            self._sources.setdefault(dim.source, []).append(dim)

    def _dim(self, dim: Number) -> str:
        return str(dim) if isinstance(dim, int) else self._dims[dim]

    def kernel(self) -> Iterator[str]:
        kernel = self._kernel
        yield " ".join(("kernel", *_attributes(kernel)))
        yield from self._block(kernel.main, "  ")
        yield f"  return {self._list(kernel.results)}".rstrip()
        if kernel.boxed_results:
            yield f"  boxed {', '.join(map(str, kernel.boxed_results))}"
        if kernel.hoisted:
            yield f"  hoisted {self._list(kernel.hoisted)}"

    def _name(self, node: Node) -> str:
        if node not in self._names:
            self._names[node] = f"%{next(self._numbers)}"
        return self._names[node]

    def _list(self, nodes: Sequence[Node]) -> str:
        return ", ".join(map(self._name, nodes))

    def _head(self, node: Node) -> str:
        """The name of a node, the dims that it defines, and its type."""
        shape = ",".join(map(self._dim, node.shape))
        dims = ", ".join(self._dims[dim] for dim in self._sources.get(node, ()))
        return f"{self._name(node)}{f' as {dims}' if dims else ''}: {node.dtype}[{shape}]"

    def _block(self, block: Block, indent: str) -> Iterator[str]:
        for node in block.nodes:
            match node.op:
                case Loop() as loop:
                    yield from self._loop(node, loop, indent)
                case Branch() as branch:
                    yield from self._branch(node, branch, indent)
                case HostCall() as call:
                    yield f"{indent}{self._name(node)} = {self._call(node, call)}"
                case Constant(array=array):
                    words = f"constant {write_elements(array, whole=self._whole)}".rstrip()
                    yield f"{indent}{self._head(node)} = {words}"
                case op:
                    words = write_op(self._dim, op, self._list(node.operands))
                    yield f"{indent}{self._head(node)} = {words}"

    def _branch(self, node: Node, branch: Branch, indent: str) -> Iterator[str]:
        yield f"{indent}{self._name(node)} = if {self._list(node.operands)}"
        yield from self._block(branch.then, indent + "  ")
        yield f"{indent}  yield {self._list(branch.then_results)}".rstrip()
        yield f"{indent}else"
        yield from self._block(branch.otherwise, indent + "  ")
        yield f"{indent}  yield {self._list(branch.otherwise_results)}".rstrip()

    def _loop(self, node: Node, loop: Loop, indent: str) -> Iterator[str]:
        yield f"{indent}{self._name(node)} = {' '.join(self._loop_head(node, loop))}"
        yield from self._block(loop.body, indent + "  ")
        if loop.next_condition is not None:
            yield f"{indent}  while {self._name(loop.next_condition)}"
        if loop.nexts:
            yield f"{indent}  yield {self._list(loop.nexts)}"
        for stack in loop.stacks:
            order = " from the last" if stack.reverse else ""
            counted = "" if stack.is_given else " uncounted"
            yield f"{indent}  stack {self._name(stack.element)} along {stack.axis}{order}{counted}"

    def _loop_head(self, node: Node, loop: Loop) -> Iterator[str]:
        operands = iter(node.operands)
        yield "loop"
        if loop.has_trip:
            yield f"trip {self._name(next(operands))}"
        if loop.length is not None:
            yield f"length {self._dim(loop.length)}"
        if loop.extent is not None:
            yield f"extent {self._dim(loop.extent)}"
        if loop.has_condition:
            yield f"while {self._name(next(operands))}"
        pairs = zip(loop.states, operands, strict=True)
        carries = ", ".join(f"{self._name(state)} = {self._name(first)}" for state, first in pairs)
        if carries:
            yield f"carries {carries}"
        if loop.path:
            yield f"at {json.dumps(loop.path)}"

    def _call(self, node: Node, call: HostCall) -> str:
        leaf, present = call.leaf, iter(zip(node.operands, call.takes, strict=True))
        operands = [self._operand(*next(present)) if given else "_" for given in call.given]
        kinds = [self._kind(*each) for each in zip(call.results, call.makes, strict=True)]
        name = f"{f'{leaf.domain}.' if leaf.domain else ''}{leaf.op}-{leaf.version}"
        attributes = write_attributes(leaf.attributes)
        return f"host call {name}{attributes} ({', '.join(operands)}) -> ({', '.join(kinds)})"

    def _operand(self, node: Node, is_boxed: bool) -> str:
        return f"{'boxed ' if is_boxed else ''}{self._name(node)}"

    def _kind(self, kind: Kind | None, is_boxed: bool) -> str:
        if kind is None:
            return "_"
        if is_boxed:
            return "boxed"
        dims = ("?" if extent is None else self._dim(extent) for extent in kind[1])
        return f"{kind[0]}[{','.join(dims)}]"


def _attributes(kernel: Kernel) -> Iterator[str]:
    for name in KERNEL_FLAGS:
        if getattr(kernel, name):
            yield name
    if kernel.parallel_threshold_ns:
        yield f"parallel_threshold_ns={kernel.parallel_threshold_ns}"


KERNEL_FLAGS = ("limits_iterations", "limits_memory", "assumes", "is_profiled", "is_recorded")
"""The boolean attributes of a kernel."""
