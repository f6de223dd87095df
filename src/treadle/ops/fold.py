"""Constant folding: evaluates leaves whose operands are constants.

The caller chooses the bound on elements and whether the result must be exact, that is, the same
bits on every engine, as trip counts and shapes need.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from treadle.errors import LoadLimitExceeded, TreadleError
from treadle.ir import DType, Leaf, Reference, dtype_of
from treadle.ops.evaluate import bind_kernel
from treadle.ops.random import RANDOM
from treadle.ops.schema import schema
from treadle.ops.sizes import MISFITS, characters, result_bytes

EXACT = frozenset(
    (
        "Abs", "Add", "And", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor",
        "Cast", "CastLike", "Ceil", "Clip", "Concat", "ConstantOfShape", "Div", "Equal", "Expand",
        "EyeLike", "Flatten", "Floor", "Gather", "Greater", "GreaterOrEqual", "Identity", "IsInf",
        "IsNaN", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Range",
        "ReduceMax", "ReduceMin", "ReduceProd", "Reshape", "Round", "Shape", "Sign", "Size",
        "Slice", "Sqrt", "Squeeze", "Sub", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
        "Xor",
    )
)  # fmt: skip
"""Operators of the standard that every engine computes to the same bits."""
_ONLY_WHOLE = frozenset(("ReduceProd",))
"""Operators of EXACT whose floating-point products depend on the order of evaluation."""

_ONLY_SHAPES = ("Shape", "Size")
"""Operators that read only the shape of their operand."""
_FLOATS = frozenset((DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64))


def fold(
    leaf: Leaf, operands: Sequence[Any], most_elements: int, *, exact: bool = True
) -> tuple[Any, ...] | None:
    """Evaluate the leaf for these operands, absent ones None; None if it must not be folded.

    Not folded are random operators, attributes supplied by a function's caller, operators that fail
    or have no kernel, and operands or results of more than `most_elements`. With `exact`, operators
    outside EXACT and results that the standard leaves undefined are not folded either: division by
    0, casts out of range.
    """
    if (exact and (leaf.domain or leaf.op not in EXACT)) or not is_repeatable(leaf):
        return None
    arrays = [each for each in operands if each is not None]
    if leaf.op not in _ONLY_SHAPES and any(_elements(array) > most_elements for array in arrays):
        return None
    try:
        if _would_be_large(leaf, operands, most_elements):
            return None
        results = bind_kernel(leaf)(operands)
    except LoadLimitExceeded:
        raise
    except (TreadleError, ArithmeticError, LookupError, TypeError, ValueError):
        return None
    if any(isinstance(each, np.ndarray) and _elements(each) > most_elements for each in results):
        return None
    return None if exact and _is_undefined(leaf, operands, results) else results


def is_repeatable(leaf: Leaf) -> bool:
    """Whether equal operands give equal results, in every call of the enclosing function."""
    if leaf.blocks or (leaf.op in RANDOM and not leaf.domain):
        return False
    if any(isinstance(attribute.value, Reference) for attribute in leaf.attributes.values()):
        return False
    found = schema(leaf.domain, leaf.op, leaf.version)
    return found is None or found.is_deterministic


def _elements(array: np.ndarray) -> int:
    """The number of elements; eight characters of text count as one."""
    return array.size if array.dtype != object else max(array.size, characters(array) // 8)


def _would_be_large(leaf: Leaf, operands: Sequence[Any], most_elements: int) -> bool:
    """Whether the operands ask for a result of more than `most_elements` elements."""
    count = result_bytes(leaf)
    if count is None:
        return False
    widest = max([8, *(each.itemsize for each in operands if each is not None)])
    with suppress(*MISFITS):  # the kernel itself reports its faulty operands
        return count(operands) > most_elements * widest
    return False


def _is_undefined(leaf: Leaf, operands: Sequence[Any], results: Sequence[Any]) -> bool:
    """Whether the result may differ between engines: integer division by 0, out-of-range casts."""
    if leaf.op in _ONLY_WHOLE:
        return operands[0].dtype.kind not in "biu"
    if leaf.op in ("Div", "Mod"):
        return _is_bad_division(*operands)
    if leaf.op in ("Cast", "CastLike"):
        return _is_bad_cast(operands[0], results[0])
    return False


def _is_bad_division(dividend: np.ndarray, divisor: np.ndarray) -> bool:
    """Whether an integer is divided by 0, or the least integer by -1."""
    if divisor.dtype.kind not in "iu":
        return False
    is_least = divisor.dtype.kind == "i" and bool((dividend == np.iinfo(dividend.dtype).min).any())
    return bool((divisor == 0).any()) or (is_least and bool((divisor == -1).any()))


def _is_bad_cast(source: np.ndarray, result: np.ndarray) -> bool:
    """Whether a float may be outside the range of the integer type it is cast to."""
    given, made = dtype_of(source.dtype), dtype_of(result.dtype)
    if given not in _FLOATS or made in _FLOATS or made is DType.BOOL:
        return False
    if result.dtype.kind not in "iu":
        return True
    bounds, wide = np.iinfo(result.dtype), source.astype(np.float64)
    return not bool(((wide > bounds.min) & (wide < bounds.max)).all())
