"""float16 and bfloat16: 16 bits in memory, float32 in a register, rounded to nearest even.

Conversions of float16 are the processor's own where it has them and a kernel has no float64, which
LLVM would convert by a function of the C library. Else they use integer arithmetic, which
vectorises on every processor.
float64 is converted to float16 through a float32 rounded to odd, so that it is rounded only once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import F32, F64, I32
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import Elementwise, Kernel, Node
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_nodes

I16 = llvm.IntType(16)
_HALF = llvm.HalfType()


def _number(value: int) -> Any:
    return llvm.Constant(I32, value)


def target_of(kernel: Kernel, target: Target) -> Target:
    """The target with conversions of float16 only if the kernel computes nothing in float64."""
    is_wide = target.has_half and any(map(_has_float64, all_nodes(kernel.main)))
    return replace(target, has_half=False) if is_wide else target


def _has_float64(node: Node) -> bool:
    if not isinstance(node.op, Elementwise):
        return node.dtype is DType.FLOAT64
    is_wide = FUNCTIONS[node.op.function].cost.is_wide
    return is_wide or node.dtype is DType.FLOAT64


def widened(builder: FunctionBuilder, bits: Any, dtype: DType) -> Any:
    """The float32 of an element's 16 bits."""
    b = builder.builder
    whole = b.zext(bits, I32)
    if dtype is DType.BFLOAT16:
        return b.bitcast(b.shl(whole, _number(16)), F32)
    if builder.target.has_half:
        return b.fpext(b.bitcast(bits, _HALF), F32)
    sign = b.shl(b.and_(whole, _number(0x8000)), _number(16))
    size = b.shl(b.and_(whole, _number(0x7FFF)), _number(13))
    scaled = b.fmul(b.bitcast(size, F32), llvm.Constant(F32, 2.0**112))
    is_special = b.icmp_unsigned(">=", size, _number(0x7C00 << 13))
    special = b.or_(size, _number(0x7F800000))
    return b.bitcast(b.or_(b.select(is_special, special, b.bitcast(scaled, I32)), sign), F32)


def narrowed(builder: FunctionBuilder, value: Any, dtype: DType) -> Any:
    """The 16 bits of the nearest element to a float32."""
    b = builder.builder
    if dtype is DType.FLOAT16 and builder.target.has_half:
        return b.bitcast(b.fptrunc(value, _HALF), I16)
    bits = b.bitcast(value, I32)
    size = b.and_(bits, _number(0x7FFFFFFF))
    sign = b.and_(b.lshr(bits, _number(16)), _number(0x8000))
    is_nan = b.icmp_unsigned(">", size, _number(0x7F800000))
    if dtype is DType.BFLOAT16:
        rounded = b.select(is_nan, _number(0x7FC0), _shifted(builder, size, 16))
    else:
        rounded = b.select(is_nan, _number(0x7E00), _half(builder, size))
    return b.trunc(b.or_(rounded, sign), I16)


def _shifted(builder: FunctionBuilder, size: Any, count: int) -> Any:
    """The number without its last bits, rounded to nearest even."""
    b = builder.builder
    is_odd = b.and_(b.lshr(size, _number(count)), _number(1))
    raised = b.add(b.add(size, _number(2 ** (count - 1) - 1)), is_odd)
    return b.lshr(raised, _number(count))


def _half(builder: FunctionBuilder, size: Any) -> Any:
    b = builder.builder
    usual = b.sub(_shifted(builder, size, 13), _number(112 << 10))
    half = llvm.Constant(F32, 0.5)
    small = b.sub(b.bitcast(b.fadd(b.bitcast(size, F32), half), I32), b.bitcast(half, I32))
    is_small = b.icmp_unsigned("<", size, _number(0x38800000))
    is_large = b.icmp_unsigned(">=", size, _number(0x47800000))
    return b.select(is_large, _number(0x7C00), b.select(is_small, small, usual))


def rounded(builder: FunctionBuilder, value: Any, dtype: DType) -> Any:
    """Round a float32 or float64 to the nearest element, in a register."""
    assert dtype in SIXTEEN_BIT_FLOATS
    if value.type == F64:
        value = (
            _to_odd(builder, value)
            if dtype is DType.FLOAT16
            else builder.builder.fptrunc(value, F32)
        )
    return widened(builder, narrowed(builder, value, dtype), dtype)


def _to_odd(builder: FunctionBuilder, value: Any) -> Any:
    """A float64 as the float32 toward zero, with the last bit set if anything was cut off."""
    b = builder.builder
    near = b.fptrunc(value, F32)
    back = b.fpext(near, F64)
    bits = b.bitcast(near, I32)
    sizes = [builder.intrinsic("llvm.fabs", F64, each) for each in (back, value)]
    is_beyond = b.fcmp_ordered(">", *sizes)
    lower = b.sub(bits, b.zext(is_beyond, I32))
    is_cut = b.fcmp_ordered("!=", back, value)
    odd = b.or_(lower, _number(1))
    is_finite = b.fcmp_ordered("<", sizes[1], llvm.Constant(F64, float("inf")))
    return b.bitcast(b.select(b.and_(is_cut, is_finite), odd, bits), F32)
