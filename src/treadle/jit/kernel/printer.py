"""A kernel in words: one line a node, loops and branches indented."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np

from treadle.jit.kernel.ir import (
    ArgTopK,
    Axis,
    Block,
    Branch,
    CarriedArg,
    Concat,
    Constant,
    Cumulative,
    DimOf,
    Elementwise,
    FlatNonzero,
    Gather,
    HostCall,
    InductionVar,
    Input,
    InputDim,
    Kernel,
    Loop,
    Node,
    Reduce,
    Result,
    ScanSlice,
    Scatter,
    SymbolicDim,
    Take,
    View,
)

_SHOWN = 8


def show_kernel(kernel: Kernel) -> str:
    """The kernel as text."""
    return "\n".join(_Printer().kernel(kernel))


class _Printer:
    def __init__(self) -> None:
        self._names: dict[Node, str] = {}
        self._extents: dict[SymbolicDim, str] = {}
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

    def _extent(self, extent: int | SymbolicDim) -> str:
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
            yield f"{indent}  yield {self._list(loop.nexts)}"
        for stack in loop.stacks:
            order = " from the last" if stack.reverse else ""
            yield f"{indent}  stack {self._name(stack.element)} along {stack.axis}{order}"


_WORDS: Mapping[type, Callable[[Any], str]] = {
    InputDim: lambda op: f"input dim {op.extent.name}",
    DimOf: lambda op: f"dim {op.axis} of operand {op.number} of",
    Input: lambda op: f"input {op.position}",
    Constant: lambda op: f"constant {_array(op.array)}",
    CarriedArg: lambda op: f"carried {op.number}",
    InductionVar: lambda _: "induction variable",
    FlatNonzero: lambda _: "flat nonzero",
    ScanSlice: lambda op: f"scan slice along {op.axis}{' from the last' if op.reverse else ''} of",
    Elementwise: lambda op: str(op.function),
    View: lambda op: f"view ({', '.join(map(_axis, op.axes))}) of",
    Concat: lambda op: f"concat along {op.axis}",
    Reduce: lambda op: f"reduce {op.function} over {','.join(map(str, op.axes))} of",
    Take: lambda op: f"take along {op.axis} of",
    ArgTopK: lambda op: f"argtopk along {op.axis} of",
    Cumulative: lambda op: f"cumulative {op.function} along {op.axis} of",
    Gather: lambda op: f"gather ({', '.join(map(_place, op.axes))}) of",
    Scatter: lambda op: f"scatter {op.function} ({', '.join(map(_place, op.axes))}) into",
    HostCall: lambda op: f"host call {op.leaf.op}-{op.leaf.version} with",
    Result: lambda op: f"result {op.number} of",
}


def _words(node: Node) -> str:
    words = _WORDS.get(type(node.op))
    return words(node.op) if words else type(node.op).__name__.lower()


def _array(array: np.ndarray) -> str:
    if array.size > _SHOWN:
        return "..."
    return " ".join(map(str, array.ravel().tolist()))


def _place(place: Axis | int) -> str:
    return f"at {place}" if isinstance(place, int) else _axis(place)


def _axis(axis: Axis) -> str:
    terms = [f"{'' if step == 1 else f'{step}*'}i{number}" for number, step in axis.terms]
    if axis.offset != 0 or not terms:
        terms.append(axis.offset.name if isinstance(axis.offset, SymbolicDim) else str(axis.offset))
    return "+".join(terms)
