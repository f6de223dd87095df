"""What a kernel is handed: one array of 64-bit slots, each an address or a number.

Given(position)         the address of a word that holds the address of an input
Extent                  an extent of this run
Result(number)          the address of a word that holds the address of a result
Array(array)            the address of a constant
Laid(array, stride)     the address of a constant matrix with room between its rows
Escape(node)            a Python object that runs an operator without native code
Workspace               the address of the kernel's own memory
Count(extent)           out: an extent nobody knew
Grown(number)           out: the address of a result of a size nobody knew
Poll                    a Python object the kernel calls now and then
Left                    in and out: how many iterations the run has left
Room                    how many bytes its loops may hold
Over(number)            out: which loop would hold more than that, when, and how much
Team                    the address of threads that help, or 0
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I8, I64, POINTER
from treadle.jit.kernel.artifact import Slot
from treadle.jit.kernel.ir import Node, SymbolicDim
from treadle.jit.kernel.node_builder import Declined

_ALIGNED, _MOST = 64, 2**47


@dataclass(eq=False, slots=True)
class AbiSlots:
    """The slots asked for so far; `bytes` is how much memory of its own the kernel needs."""

    builder: FunctionBuilder
    array_pointer: Any
    layout: dict[Any, int] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    bytes: int = 0
    _loaded: dict[tuple[int, Any], Any] = field(default_factory=dict)
    _arrays: dict[int, Any] = field(default_factory=dict)

    def _number(self, kind: str, key: Any, which: Any) -> int:
        if (kind, key) not in self.layout:
            self.layout[kind, key] = len(self.slots)
            self.slots.append(Slot(kind, which))
        return self.layout[kind, key]

    def _load(self, number: int, type_: Any) -> Any:
        if (number, type_) not in self._loaded:
            builder = self.builder.before
            address = builder.gep(
                self.array_pointer, [llvm.Constant(I64, number)], source_etype=I64, inbounds=True
            )
            self._loaded[number, type_] = builder.load(address, typ=type_)
        return self._loaded[number, type_]

    def given(self, position: int) -> Any:
        """The address of an input."""
        return self._array(self._number("given", position, position))

    def extent(self, extent: SymbolicDim) -> Any:
        """An extent of this run."""
        return self._load(self._number("extent", extent, extent), I64)

    def result(self, number: int) -> Any:
        """The address of a result."""
        return self._array(self._number("result", number, number))

    def _array(self, number: int) -> Any:
        """The address of an array's elements, which a word holds that the slot leads to."""
        if number not in self._arrays:
            word = self._load(number, POINTER)
            self._arrays[number] = self.builder.before.load(word, typ=POINTER)
        return self._arrays[number]

    def array(self, array: np.ndarray) -> Any:
        """The address of a constant."""
        return self._load(self._number("array", id(array), array), POINTER)

    def laid(self, array: np.ndarray, stride: int) -> Any:
        """The address of a constant matrix, so many elements from one row to the next."""
        return self._load(self._number("laid", (id(array), stride), (array, stride)), POINTER)

    def poll(self) -> Any:
        """The Python object that is called now and then."""
        return self._load(self._number("poll", None, None), POINTER)

    def escape(self, node: Node) -> Any:
        """The Python object that an operator without native code is."""
        return self._load(self._number("escape", node, node), POINTER)

    def workspace(self, size: int) -> Any:
        """The address of memory of the kernel's own."""
        if size > _MOST:
            raise Declined("a value that does not fit into memory")
        base = self._load(self._number("workspace", None, None), POINTER)
        offset, self.bytes = self.bytes, self.bytes + -(-max(size, 1) // _ALIGNED) * _ALIGNED
        return self.builder.before.gep(
            base, [llvm.Constant(I64, offset)], source_etype=I8, inbounds=True
        )

    def thread_pool(self) -> Any:
        """The address of the threads that help; null for none."""
        return self._load(self._number("team", None, None), POINTER)

    def left(self) -> Any:
        """Where the slot is that says how many iterations the run has left."""
        return self.out("left", 0)

    def room(self) -> Any:
        """How many bytes the loops of the run may hold besides what is held already."""
        return self._load(self._number("room", None, None), I64)

    def out(self, kind: str, which: SymbolicDim | int) -> Any:
        """Where a slot is that the kernel writes."""
        number = self._number(kind, which, which)
        return self.builder.before.gep(
            self.array_pointer, [llvm.Constant(I64, number)], source_etype=I64, inbounds=True
        )
