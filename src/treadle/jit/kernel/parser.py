"""Reads a kernel from text. The grammar is `printer`'s; a line that begins with `#` is a comment.

    kernel
      %x: float32[3] = input 0
      %two: float32[] = constant 2.0
      %y: float32[3] = mul %x, %two
      return %y

Names are arbitrary, indentation is not: two more spaces for each block. Only the syntax is checked;
`verifier.verify_kernel` checks the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from treadle.ir import DType, Leaf, Value
from treadle.jit.kernel.ir import (
    Block,
    Branch,
    Constant,
    HostCall,
    Input,
    Kernel,
    Kind,
    Loop,
    Node,
    Number,
    Shape,
    Stack,
    SymbolicDim,
    op_of,
)
from treadle.jit.kernel.literal_text import read_attributes, read_elements
from treadle.jit.kernel.op_text import InvalidKernel, read_op
from treadle.jit.kernel.printer import KERNEL_FLAGS

_VALUE, _DIM = r"%[\w.]+", r"[\w']+"
_TYPED = re.compile(rf"({_VALUE})(?: as ({_DIM}(?:, {_DIM})*))?: (\w+)\[([^\]]*)\] = (.+)")
_UNTYPED = re.compile(rf"({_VALUE}) = (loop|if|host call)\b ?(.*)")
_LOOP = re.compile(
    rf"(?:trip ({_VALUE}) ?)?(?:length ({_DIM}) ?)?(?:extent ({_DIM}) ?)?(?:while ({_VALUE}) ?)?"
    r"(?:carries ([^\"]*?) ?)?(?:at (\".*\"))?"
)
_STACK = re.compile(rf"stack ({_VALUE}) along (\d+)( from the last)?( uncounted)?")
_CALL = re.compile(r"(?:([\w.]+)\.)?(\w+)-(\d+)( <.*>)? \((.*)\) -> \((.*)\)")
_KIND = re.compile(r"(\w+)\[([^\]]*)\]")
_OBJECT: Kind = (DType.INT64, ())

T = TypeVar("T")


def parse_kernel(text: str) -> Kernel:
    """Parse the text of a kernel; raises InvalidKernel, which names the line."""
    parser = _Parser(text)
    try:
        return parser.kernel()
    except InvalidKernel as why:
        raise InvalidKernel(f"line {parser.line_number}: {why}") from why


def _items(text: str) -> list[str]:
    return text.split(", ") if text else []


class _Parser:
    """The remaining lines, the values and dims named so far, and the current block."""

    def __init__(self, text: str) -> None:
        lines = enumerate(text.splitlines(), 1)
        numbered = [(k, line.rstrip()) for k, line in lines if line.strip()[:1] not in ("", "#")]
        margin = min((len(line) - len(line.lstrip(" ")) for _, line in numbered), default=0)
        self._lines = [(k, line[margin:]) for k, line in numbered]
        self._next = 0
        self._values: dict[str, Node] = {}
        self._everywhere: dict[str, Node] = {}
        self._dims: dict[str, SymbolicDim] = {}
        self._block = Block("main")

    @property
    def line_number(self) -> int:
        """The number of the line read last, from 1."""
        return (
            self._lines[min(max(self._next - 1, 0), len(self._lines) - 1)][0] if self._lines else 1
        )

    # lines

    def _peek(self, depth: int) -> str:
        """The next line of a block at this depth; "" at the end of the block."""
        if self._next == len(self._lines):
            return ""
        line = self._lines[self._next][1]
        indent = len(line) - len(line.lstrip(" "))
        if indent > 2 * depth:
            self._next += 1
            raise InvalidKernel(f"an indentation of {indent} spaces where {2 * depth} are right")
        return line.lstrip(" ") if indent == 2 * depth else ""

    def _accept(self, depth: int, prefix: str) -> str | None:
        """The rest of the next line if it begins with the prefix.

        Otherwise None, reading nothing.
        """
        line = self._peek(depth)
        if line != prefix and not line.startswith(prefix + " "):
            return None
        self._next += 1
        return line[len(prefix) :].lstrip(" ")

    def _expect(self, depth: int, prefix: str) -> str:
        found = self._accept(depth, prefix)
        if found is None:
            self._next += 1
            raise InvalidKernel(f"{prefix!r} is missing")
        return found

    # names

    def _dim(self, text: str) -> Number:
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        if text not in self._dims:
            self._dims[text] = SymbolicDim(text.split("'")[0])
        return self._dims[text]

    def _shape(self, text: str) -> Shape:
        return tuple(self._dim(extent) for extent in text.split(",") if extent)

    def _value(self, name: str) -> Node:
        if name not in self._values:
            raise InvalidKernel(f"{name} is read before it is defined")
        return self._values[name]

    def _list(self, text: str) -> tuple[Node, ...]:
        return tuple(self._value(name) for name in _items(text))

    # blocks

    def kernel(self) -> Kernel:
        attributes = self._expect(0, "kernel").split()
        threshold = [a for a in attributes if a.startswith("parallel_threshold_ns=")]
        unknown = {*attributes} - {*KERNEL_FLAGS, *threshold}
        if unknown:
            raise InvalidKernel(f"a kernel has no attribute {sorted(unknown)[0]}")
        self._nodes(1)
        results = self._list(self._expect(1, "return"))
        boxed = tuple(int(number) for number in _items(self._accept(1, "boxed") or ""))
        hoisted = self._hoisted(self._accept(1, "hoisted") or "")
        if self._next < len(self._lines):
            self._next += 1
            raise InvalidKernel("a line after the end of the kernel")
        inputs = [node for node in self._block.nodes if isinstance(node.op, Input)]
        return Kernel(
            tuple(sorted(inputs, key=_position)), self._block, results, hoisted,
            boxed_results=boxed,
            parallel_threshold_ns=int(threshold[0].split("=")[1]) if threshold else 0,
            **{flag: flag in attributes for flag in KERNEL_FLAGS},
        )  # fmt: skip

    def _hoisted(self, names: str) -> tuple[Node, ...]:
        """The nodes of these names, which may be in a loop's body."""
        unknown = {*_items(names)} - {*self._everywhere}
        if unknown:
            raise InvalidKernel(f"{sorted(unknown)[0]} is not defined")
        return tuple(self._everywhere[name] for name in _items(names))

    def _nodes(self, depth: int) -> None:
        """Parse every line that defines a value."""
        while self._peek(depth).startswith("%"):
            line = self._peek(depth)
            self._next += 1
            typed, untyped = _TYPED.fullmatch(line), _UNTYPED.fullmatch(line)
            if typed:
                self._typed(*typed.groups())
            elif untyped:
                name, word, rest = untyped.groups()
                self._define(name, *_UNTYPED_FORMS[word](self, rest, depth))
            else:
                raise InvalidKernel(f"{line!r} does not define a value")

    def _typed(self, name: str, dims: str | None, dtype: str, shape: str, words: str) -> None:
        if dtype not in _DTYPES:
            raise InvalidKernel(f"{dtype} is not an element type")
        type_, extents = DType(dtype), self._shape(shape)
        if words == "constant" or words.startswith("constant "):
            found = tuple(extent for extent in extents if isinstance(extent, int))
            array = read_elements(words[9:], type_, found)
            node = Node(Constant(array), type_, extents, (), self._block)
        else:
            op, operands = read_op(self._dim, words)
            node = Node(op, type_, extents, self._list(operands), self._block)
        self._add(name, node)
        for dim in _items(dims or ""):
            if dim in self._dims:
                raise InvalidKernel(f"dim {dim} is read before it is defined, or defined twice")
            self._dims[dim] = SymbolicDim(dim.split("'")[0], node)

    def _define(self, name: str, op: Loop | Branch | HostCall, operands: Sequence[Node]) -> None:
        self._add(name, Node(op, DType.BOOL, (), tuple(operands), self._block))

    def _add(self, name: str, node: Node) -> None:
        if name in self._values:
            raise InvalidKernel(f"{name} is defined twice")
        self._values[name] = self._everywhere[name] = node
        self._block.nodes.append(node)

    def _inside(self, block: Block, read: Callable[[], T]) -> T:
        """Parse by `read` inside the block; its values are unknown afterwards."""
        outer, values, self._block = self._block, dict(self._values), block
        found = read()
        self._block, self._values = outer, values
        return found

    # operations with blocks, and calls

    def _loop(self, head: str, depth: int) -> tuple[Loop, Sequence[Node]]:
        found = _LOOP.fullmatch(head)
        if found is None:
            raise InvalidKernel(f"{head!r} is not the head of a loop")
        trip, length, extent, condition, carries, path = found.groups()
        pairs = [pair.split(" = ") for pair in _items(carries or "")]
        operands = [self._value(name) for name in (trip, condition) if name]
        operands += [self._value(initial) for _, initial in pairs]
        body = Block("body", self._block, is_loop=True)
        states, nexts, after, stacks = self._inside(
            body, lambda: self._body(depth + 1, [state for state, _ in pairs])
        )
        loop = Loop(
            body, trip is not None, condition is not None, self._dim(length) if length else None,
            states, nexts, after, stacks, self._dim(extent) if extent else None,
            json.loads(path) if path else "",
        )  # fmt: skip
        return loop, operands

    def _body(
        self, depth: int, states: Sequence[str]
    ) -> tuple[tuple[Node, ...], tuple[Node, ...], Node | None, tuple[Stack, ...]]:
        self._nodes(depth)
        condition = self._accept(depth, "while")
        nexts = self._list(self._accept(depth, "yield") or "")
        stacks = []
        while self._peek(depth).startswith("stack "):
            found = _STACK.fullmatch(self._peek(depth))
            self._next += 1
            if found is None:
                raise InvalidKernel("a stack is `stack %value along axis`")
            element, axis, reverse, uncounted = found.groups()
            stacks.append(
                Stack(self._value(element), int(axis), reverse is not None, uncounted is None)
            )
        carried = tuple(self._value(name) for name in states)
        return carried, nexts, self._value(condition) if condition else None, tuple(stacks)

    def _branch(self, head: str, depth: int) -> tuple[Branch, Sequence[Node]]:
        condition = self._value(head)
        then, otherwise = Block("then", self._block), Block("else", self._block)
        then_results = self._inside(then, lambda: self._side(depth + 1))
        self._expect(depth, "else")
        otherwise_results = self._inside(otherwise, lambda: self._side(depth + 1))
        return Branch(then, otherwise, then_results, otherwise_results), [condition]

    def _side(self, depth: int) -> tuple[Node, ...]:
        self._nodes(depth)
        return self._list(self._expect(depth, "yield"))

    def _call(self, words: str, _: int) -> tuple[HostCall, Sequence[Node]]:
        found = _CALL.fullmatch(words)
        if found is None:
            raise InvalidKernel(f"{words!r} is not a call of an operator")
        domain, op, version, attributes, operands, kinds = found.groups()
        given = _items(operands)
        present = [each for each in given if each != "_"]
        wanted = re.split(r", (?![^\[]*\])", kinds) if kinds else []
        results = tuple(self._kind(each) for each in wanted)
        leaf = Leaf(
            domain or "", op, int(version),
            tuple(None if each == "_" else Value(f"x{k}") for k, each in enumerate(given)),
            tuple(None if each == "_" else Value(f"y{k}") for k, each in enumerate(wanted)),
            read_attributes(attributes) if attributes else {},
        )  # fmt: skip
        call = HostCall(
            leaf, tuple(each != "_" for each in given), results,
            tuple(each.startswith("boxed ") for each in present),
            tuple(each == "boxed" for each in wanted),
        )  # fmt: skip
        return call, [self._value(each.removeprefix("boxed ")) for each in present]

    def _kind(self, text: str) -> Kind | None:
        if text in ("_", "boxed"):
            return None if text == "_" else _OBJECT
        found = _KIND.fullmatch(text)
        if found is None or found[1] not in _DTYPES:
            raise InvalidKernel(f"{text!r} is not the type of a result")
        extents = (each for each in found[2].split(",") if each)
        return DType(found[1]), tuple(None if e == "?" else self._dim(e) for e in extents)


_DTYPES = {dtype.value for dtype in DType}
_Form = Callable[[_Parser, str, int], tuple[Loop | Branch | HostCall, Sequence[Node]]]
_UNTYPED_FORMS: Mapping[str, _Form] = {
    "loop": _Parser._loop,
    "if": _Parser._branch,
    "host call": _Parser._call,
}


def _position(node: Node) -> int:
    return op_of(node, Input).position
