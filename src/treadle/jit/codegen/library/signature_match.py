"""Matches the tensors of a call with a kernel's signature, and computes result shapes.

bool fits_0(in):
    the ranks, element types and static extents are those of its signature
    dynamic extents of one length are equal, and at least two unless loops run along them
    its conditions hold
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.library.interface import (
    DATA,
    DTYPE,
    NUMBERS,
    RANK,
    Tensors,
    begin,
)
from treadle.jit.codegen.llvm_types import I1, I8, I32, I64, POINTER
from treadle.jit.kernel.free_kernel import FreeKernel
from treadle.jit.kernel.ir import Node, SymbolicDim
from treadle.jit.kernel.target import Target


def emit_fits(module: llvm.Module, free: FreeKernel, number: int, target: Target) -> Any:
    """Emit the function that tests whether a kernel matches."""
    w = begin(module, f".fits_{number}", I1, [POINTER], target)
    tensors = Tensors(w, w.function.args[0])
    first: dict[SymbolicDim, Any] = {}
    for position, (dtype, shape) in enumerate(free.signature):
        _demand(w, tensors.load(position, DTYPE), llvm.Constant(I32, NUMBERS[dtype]))
        _demand(w, tensors.load(position, RANK), llvm.Constant(I32, len(shape)))
        for axis, extent in enumerate(shape):
            found = tensors.extent(position, axis)
            if extent >= 0:
                _demand(w, found, llvm.Constant(I64, extent))
                continue
            least = 0 if (position, axis) in free.looped else 2
            _demand(w, found, llvm.Constant(I64, least), ">=")
            known = first.setdefault(free.open_axes[position, axis], found)
            if known is not found:
                _demand(w, found, known)
    for position in free.true_inputs:
        holds = w.builder.load(tensors.load(position, DATA), typ=I8)
        _demand(w, holds, llvm.Constant(I8, 0), "!=")
    w.builder.ret(llvm.Constant(I1, 1))
    w.close_entry()
    return w.function


def _demand(builder: FunctionBuilder, found: Any, wanted: Any, how: str = "==") -> None:
    """Reject the kernel unless the comparison holds."""
    b = builder.builder
    with builder.rarely(b.not_(b.icmp_signed(how, found, wanted))):
        b.ret(llvm.Constant(I1, 0))


def known_extents(tensors: Tensors, free: FreeKernel) -> Mapping[SymbolicDim, Any]:
    """The extents known before a kernel runs: those of axes, and nonnegative trip counts."""
    w = tensors.builder
    found = {
        extent: tensors.extent(position, axis)
        for (position, axis), extent in reversed(list(free.open_axes.items()))
    }
    for extent, position in free.trips.items():
        narrow = free.signature[position][0] is DType.INT32
        count = w.builder.load(tensors.load(position, DATA), typ=I32 if narrow else I64)
        whole = w.builder.sext(count, I64) if narrow else count
        found[extent] = w.most(whole, 0)
    return found


def extent_value(extent: int | SymbolicDim, known: Mapping[SymbolicDim, Any]) -> Any:
    """The extent as a 64-bit number; -1 if it is known only after the run."""
    if isinstance(extent, int):
        return llvm.Constant(I64, extent)
    return known.get(extent, llvm.Constant(I64, -1))


def emit_shapes(module: llvm.Module, free: FreeKernel, number: int, target: Target) -> Any:
    """Emit the function that computes the result shapes, with -1 for unknown extents."""
    w = begin(module, f".shapes_{number}", I32, [POINTER, POINTER], target)
    given, made = (Tensors(w, argument) for argument in w.function.args)
    known = known_extents(given, free)
    for position, node in enumerate(free.kernel.results):
        describe(made, position, node)
        for axis, extent in enumerate(node.shape):
            w.builder.store(extent_value(extent, known), made.extent_pointer(position, axis))
    w.builder.ret(llvm.Constant(I32, 0))
    w.close_entry()
    return w.function


def describe(tensors: Tensors, position: int, node: Node) -> None:
    """Set the rank and the element type of a result."""
    tensors.store(position, RANK, llvm.Constant(I32, len(node.shape)))
    tensors.store(position, DTYPE, llvm.Constant(I32, NUMBERS[node.dtype]))
