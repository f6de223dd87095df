"""The arguments of a kernel: one array of 64-bit slots, each an address or a number.

Given(position)         the address of a word that holds the address of an input
Extent                  a dynamic extent of this run
Result(number)          the address of a word that holds the address of a result
Array(array)            the address of a constant
Panels(array, width)    the address of a constant matrix in panels of `width` columns
Escape(node)            a Python object that runs an operator on the host
Workspace               the address of the kernel's workspace
Count(extent)           out: an extent known only after the run
Grown(number)           out: the address of a result of such a size
Rows(number)            out: how many rows of a result a recorded kernel has written
Poll                    the Python object that safepoints call; free kernel: a function, or 0
Left                    in and out: the number of iterations the run has left
Room                    the number of bytes its loops may hold
Over(number)            out: the loop that would exceed this, its iteration, and the size
Clocks                  the address of the counters of a profiled kernel
Team                    the address of the thread pool, or 0; free kernel: a function, or 0

A free kernel (one without Python) has no Array and no Panels: its constants are in an object file.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I8, I64, POINTER
from treadle.jit.host.array_memory import in_panels
from treadle.jit.kernel.artifact import Slot
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Node, SymbolicDim
from treadle.jit.kernel.target import LARGEST_BYTES, PYTHON, Surroundings

_ALIGNMENT = 64
"""Alignment of the workspace in bytes."""


@dataclass(eq=False, slots=True)
class AbiSlots:
    """The slots requested so far; `size` is the number of workspace bytes.

    `constants` are those of a free kernel, by the names of their data.
    """

    builder: FunctionBuilder
    array_pointer: Any
    layout: dict[Any, int] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    size: int = 0
    surroundings: Surroundings = PYTHON
    constants: dict[str, bytes] = field(default_factory=dict)
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
        """The slot with the address of an input."""
        return self._array(self._number("given", position, position))

    def extent(self, extent: SymbolicDim) -> Any:
        """The slot with a dynamic extent."""
        return self._load(self._number("extent", extent, extent), I64)

    def result(self, number: int) -> Any:
        """The slot with the address of a result."""
        return self._array(self._number("result", number, number))

    def _array(self, number: int) -> Any:
        """The slot that leads to a word with the address of an array's elements."""
        if number not in self._arrays:
            word = self._load(number, POINTER)
            self._arrays[number] = self.builder.before.load(word, typ=POINTER)
        return self._arrays[number]

    def array(self, array: np.ndarray) -> Any:
        """The address of a constant."""
        if self.surroundings.is_free:
            return self._data(array.tobytes())
        return self._load(self._number("array", id(array), array), POINTER)

    def panels(self, array: np.ndarray, width: int) -> Any:
        """The address of a constant matrix in panels of this many columns."""
        if self.surroundings.is_free:
            return self._data(in_panels(array, width).tobytes())
        return self._load(self._number("panels", (id(array), width), (array, width)), POINTER)

    def _data(self, content: bytes) -> Any:
        """The address of data in an object file."""
        name = f"{self.surroundings.prefix}data_{hashlib.sha256(content).hexdigest()[:24]}"
        self.constants[name] = content
        module = self.builder.module
        if name not in module.globals:
            data = llvm.GlobalVariable(module, llvm.ArrayType(I8, max(len(content), 1)), name)
            data.linkage, data.storage_class = "external", "hidden"
            data.global_constant, data.align = True, _ALIGNMENT
        return module.globals[name]

    def poll(self) -> Any:
        """The object that safepoints call: a Python object.

        In a free kernel a function, or null.
        """
        return self._load(self._number("poll", None, None), POINTER)

    def escape(self, node: Node) -> Any:
        """The Python object of a host call."""
        return self._load(self._number("escape", node, node), POINTER)

    def workspace(self, size: int) -> Any:
        """The address of the workspace."""
        if size > LARGEST_BYTES:
            raise Declined("a value that does not fit into memory")
        base = self._load(self._number("workspace", None, None), POINTER)
        offset, self.size = self.size, self.size + -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
        return self.builder.before.gep(
            base, [llvm.Constant(I64, offset)], source_etype=I8, inbounds=True
        )

    def thread_pool(self) -> Any:
        """The address of the thread pool; null for none."""
        return self._load(self._number("team", None, None), POINTER)

    def clocks(self) -> Any:
        """The address of the words of all clocks."""
        return self._load(self._number("clocks", None, None), POINTER)

    def left(self) -> Any:
        """The slot with the number of iterations the run has left."""
        return self.out("left", 0)

    def room(self) -> Any:
        """The number of bytes that the run's loops may still hold."""
        return self._load(self._number("room", None, None), I64)

    def out(self, kind: str, which: SymbolicDim | int) -> Any:
        """A slot that the kernel writes."""
        number = self._number(kind, which, which)
        return self.builder.before.gep(
            self.array_pointer, [llvm.Constant(I64, number)], source_etype=I64, inbounds=True
        )
