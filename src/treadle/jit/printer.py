"""A kernel in words: one line a node, loops and branches indented."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from treadle.jit.kernel_ir import (
    Axis,
    Block,
    Branch,
    Constant,
    Counter,
    Extent,
    Input,
    Item,
    Join,
    Kernel,
    Loop,
    Map,
    Node,
    Part,
    Pick,
    Reduce,
    State,
    View,
)

_SHOWN = 8


def show_kernel(kernel: Kernel) -> str:
    """The kernel as text."""
    return "\n".join(_Printer().kernel(kernel))


class _Printer:
    def __init__(self) -> None:
        self._names: dict[Node, str] = {}
        self._extents: dict[Extent, str] = {}
        self._numbers = count()

    def kernel(self, kernel: Kernel) -> Iterator[str]:
        yield "kernel"
        yield from self._block(kernel.main, "  ")
        yield f"  give {self._list(kernel.results)}"

    def _name(self, node: Node) -> str:
        if node not in self._names:
            self._names[node] = f"%{next(self._numbers)}"
        return self._names[node]

    def _list(self, nodes: tuple[Node, ...]) -> str:
        return ", ".join(map(self._name, nodes))

    def _type(self, node: Node) -> str:
        return f"{node.dtype}[{','.join(map(self._extent, node.shape))}]"

    def _extent(self, extent: int | Extent) -> str:
        return str(extent) if isinstance(extent, int) else extent.name

    def _block(self, block: Block, indent: str) -> Iterator[str]:
        for node in block.nodes:
            match node.op:
                case Loop() as loop:
                    yield from self._loop(node, loop, indent)
                case Branch() as branch:
                    yield f"{indent}{self._name(node)} = if {self._list(node.operands)}"
                    yield from self._block(branch.then, indent + "  ")
                    yield f"{indent}  give {self._list(branch.then_results)}"
                    yield f"{indent}else"
                    yield from self._block(branch.otherwise, indent + "  ")
                    yield f"{indent}  give {self._list(branch.otherwise_results)}"
                case _:
                    words = " ".join(filter(None, (_words(node), self._list(node.operands))))
                    yield f"{indent}{self._name(node)}: {self._type(node)} = {words}"

    def _loop(self, node: Node, loop: Loop, indent: str) -> Iterator[str]:
        operands = list(node.operands)
        head = [f"{self._name(node)} = loop"]
        if loop.has_trip:
            head.append(f"trip {self._name(operands.pop(0))}")
        if loop.length is not None:
            head.append(f"length {self._extent(loop.length)}")
        if loop.has_condition:
            head.append(f"while {self._name(operands.pop(0))}")
        pairs = zip(loop.states, operands, strict=True)
        head += [f"{self._name(state)} = {self._name(initial)}" for state, initial in pairs]
        yield indent + " ".join(head)
        yield from self._block(loop.body, indent + "  ")
        if loop.next_condition is not None:
            yield f"{indent}  while {self._name(loop.next_condition)}"
        if loop.nexts:
            yield f"{indent}  next {self._list(loop.nexts)}"
        for stack in loop.stacks:
            order = " from the last" if stack.reverse else ""
            yield f"{indent}  stack {self._name(stack.element)} along {stack.axis}{order}"


def _words(node: Node) -> str:
    match node.op:
        case Input(position):
            return f"input {position}"
        case Constant(array):
            return f"constant {_array(array)}"
        case Counter():
            return "counter"
        case State(number):
            return f"state {number}"
        case Item(axis, reverse):
            return f"item along {axis}{' from the last' if reverse else ''} of"
        case Map(function):
            return function
        case View(axes):
            return f"view ({', '.join(map(_axis, axes))}) of"
        case Join(axis):
            return f"join along {axis}"
        case Reduce(function, axes):
            return f"reduce {function} over {','.join(map(str, axes))} of"
        case Pick(axis):
            return f"pick along {axis} of"
        case Part(number):
            return f"part {number} of"
    return type(node.op).__name__.lower()


def _array(array: np.ndarray) -> str:
    if array.size > _SHOWN:
        return "..."
    return " ".join(map(str, array.ravel().tolist()))


def _axis(axis: Axis) -> str:
    terms = [f"{'' if step == 1 else f'{step}*'}i{number}" for number, step in axis.terms]
    if axis.offset or not terms:
        terms.append(str(axis.offset))
    return "+".join(terms)
