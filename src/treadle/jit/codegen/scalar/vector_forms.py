"""Emits the vector forms of scalar functions; kernel/scalar_functions.py says which have one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I32, I64, register_type, undefined
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.element_types import is_float, is_signed
from treadle.jit.kernel.ir import Elementwise, Node


def apply_lanes(
    builder: FunctionBuilder, function: str, dtypes: Sequence[DType], result: DType, *args: Any
) -> Any:
    """Apply the function, lane by lane."""
    match function:
        case "cast":
            return _cast(builder, args[0], dtypes[0], result)
        case "abs":
            return _absolute(builder, args[0], dtypes[0])
        case "not":
            ones = llvm.Constant(args[0].type, [_ones(dtypes[0])] * args[0].type.count)
            return builder.builder.xor(args[0], ones)
    return functions.apply(builder, function, tuple(dtypes), result, *args)


def _ones(dtype: DType) -> int:
    return 1 if dtype is DType.BOOL else -1


def _absolute(builder: FunctionBuilder, value: Any, dtype: DType) -> Any:
    if is_float(dtype):
        return builder.intrinsic("llvm.fabs", value.type, value)
    if not is_signed(dtype):
        return value
    is_below = builder.builder.icmp_signed("<", value, llvm.Constant(value.type, None))
    return builder.builder.select(is_below, builder.builder.neg(value), value)


def _cast(builder: FunctionBuilder, value: Any, source: DType, target: DType) -> Any:
    b, type_ = builder.builder, llvm.VectorType(register_type(target), value.type.count)
    if source == target:
        return value
    if is_float(source):
        return b.fpext(value, type_) if target is DType.FLOAT64 else b.fptrunc(value, type_)
    if is_float(target):
        return b.sitofp(value, type_) if is_signed(source) else b.uitofp(value, type_)
    if value.type.element.width > type_.element.width:
        return b.trunc(value, type_)
    if value.type.element.width == type_.element.width:
        return value
    return b.sext(value, type_) if is_signed(source) else b.zext(value, type_)


def lane_numbers(builder: FunctionBuilder, count: int) -> Any:
    """0, 1, 2 ..."""
    return llvm.Constant(llvm.VectorType(I64, count), list(range(count)))


def shifted(builder: FunctionBuilder, vector: Any, first: Any) -> Any:
    """Shift: every lane gets the value of the previous one; lane 0 gets `first`."""
    count = vector.type.count
    places = llvm.Constant(llvm.VectorType(I32, count), [0, *range(count - 1)])
    moved = builder.builder.shuffle_vector(vector, undefined(vector.type), places)
    return builder.builder.insert_element(moved, first, llvm.Constant(I32, 0))


def mapped(
    builder: FunctionBuilder, node: Node, chain: Sequence[Node] | None, value: Callable[[Node], Any]
) -> Any:
    """An Elementwise applied to the values of its operands, or of the chain it ends."""
    assert isinstance(node.op, Elementwise)
    dtypes = [operand.dtype for operand in node.operands]
    if chain is None:
        return apply_lanes(
            builder, node.op.function, dtypes, node.dtype, *map(value, node.operands)
        )
    both = partial(apply_lanes, builder, node.op.function, [node.dtype] * 2, node.dtype)
    return reduce(both, map(value, chain))
