"""Scalar functions of several elements at once, in the lanes of a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.emit import scalars
from treadle.jit.emit.types import I32, I64, NARROW, in_register, is_float, is_signed
from treadle.jit.emit.writer import Writer
from treadle.jit.kernel_ir import Map, Node

_PLAIN = frozenset((
    "add", "sub", "mul", "min", "max", "neg", "and", "or", "xor", "where", "equal", "not_equal",
    "less", "less_equal", "greater", "greater_equal", "sqrt",
))  # fmt: skip
_OWN = frozenset(("abs", "not", "cast"))


def has_form(function: str, dtypes: Sequence[DType], result: DType) -> bool:
    """Whether the function of these dtypes is written here."""
    if any(dtype in NARROW for dtype in (*dtypes, result)):
        return False
    if function == "cast":
        return _can_cast(dtypes[0], result)
    is_divided = function == "div" and is_float(result)
    return function in _PLAIN or function in _OWN or is_divided


def _can_cast(source: DType, target: DType) -> bool:
    if is_float(source):
        return is_float(target)
    return target is not DType.BOOL


def apply(w: Writer, function: str, dtypes: Sequence[DType], result: DType, *args: Any) -> Any:
    """The function, lane by lane."""
    match function:
        case "cast":
            return _cast(w, args[0], dtypes[0], result)
        case "abs":
            return _absolute(w, args[0], dtypes[0])
        case "not":
            ones = llvm.Constant(args[0].type, [_ones(dtypes[0])] * args[0].type.count)
            return w.builder.xor(args[0], ones)
    return scalars.apply(w, function, tuple(dtypes), result, *args)


def _ones(dtype: DType) -> int:
    return 1 if dtype is DType.BOOL else -1


def _absolute(w: Writer, x: Any, dtype: DType) -> Any:
    if is_float(dtype):
        return w.intrinsic("llvm.fabs", x.type, x)
    if not is_signed(dtype):
        return x
    is_below = w.builder.icmp_signed("<", x, llvm.Constant(x.type, None))
    return w.builder.select(is_below, w.builder.neg(x), x)


def _cast(w: Writer, x: Any, source: DType, target: DType) -> Any:
    b, type_ = w.builder, llvm.VectorType(in_register(target), x.type.count)
    if source == target:
        return x
    if is_float(source):
        return b.fpext(x, type_) if target is DType.FLOAT64 else b.fptrunc(x, type_)
    if is_float(target):
        return b.sitofp(x, type_) if is_signed(source) else b.uitofp(x, type_)
    if x.type.element.width > type_.element.width:
        return b.trunc(x, type_)
    if x.type.element.width == type_.element.width:
        return x
    return b.sext(x, type_) if is_signed(source) else b.zext(x, type_)


def splat(w: Writer, value: Any, count: int) -> Any:
    """The value in every lane."""
    vector = llvm.VectorType(value.type, count)
    nothing = llvm.Constant(vector, llvm.Undefined)
    first = w.builder.insert_element(nothing, value, llvm.Constant(I32, 0))
    mask = llvm.Constant(llvm.VectorType(I32, count), None)
    return w.builder.shuffle_vector(first, nothing, mask)


def numbers(w: Writer, count: int) -> Any:
    """0, 1, 2 ..."""
    return llvm.Constant(llvm.VectorType(I64, count), list(range(count)))


def shifted(w: Writer, vector: Any, first: Any) -> Any:
    """Every lane has what the one before had; lane 0 has `first`."""
    count = vector.type.count
    places = llvm.Constant(llvm.VectorType(I32, count), [0, *range(count - 1)])
    moved = w.builder.shuffle_vector(vector, llvm.Constant(vector.type, llvm.Undefined), places)
    return w.builder.insert_element(moved, first, llvm.Constant(I32, 0))


def mapped(
    w: Writer, node: Node, chain: Sequence[Node] | None, value: Callable[[Node], Any]
) -> Any:
    """A Map of what `value` says of its operands, or of those of the chain it ends."""
    assert isinstance(node.op, Map)
    dtypes = [operand.dtype for operand in node.operands]
    if chain is None:
        return apply(w, node.op.function, dtypes, node.dtype, *map(value, node.operands))
    both = partial(apply, w, node.op.function, [node.dtype] * 2, node.dtype)
    return reduce(both, map(value, chain))
