"""Computes operators in a wider element type, if a version lacks their own.

    Add(int8)   before 14   ->   Cast(Add(Cast(x, int32), Cast(y, int32)), int8)

Only if the result has the same bits: operators that move or compare elements, sums and products of
integers (which wrap around alike), and narrow floats, which are rounded anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from treadle import ops
from treadle.ir import (
    DType,
    Leaf,
    Optional,
    Sparse,
    Tensor,
    Type,
    Value,
    with_operands,
    with_results,
)
from treadle.ir import Sequence as SequenceType
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import NoForm

_SMALL = (DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64)
_WIDER: Mapping[DType, Sequence[DType]] = {
    DType.BOOL: (DType.UINT8, *_SMALL),
    DType.INT8: _SMALL, DType.UINT8: _SMALL, DType.INT16: _SMALL, DType.UINT16: _SMALL,
    DType.INT32: (DType.INT64, DType.FLOAT64),
    DType.UINT32: (DType.INT64, DType.UINT64, DType.FLOAT64),
    DType.INT64: (), DType.UINT64: (),
    DType.FLOAT16: (DType.FLOAT32,),
    DType.BFLOAT16: (DType.FLOAT32,),
    DType.FLOAT32: (DType.FLOAT64,),
}  # fmt: skip
_NARROW_FLOATS = {DType.FLOAT16, DType.BFLOAT16}
_EXACT = frozenset(
    [
        "Abs",
        "Add",
        "ArgMax",
        "ArgMin",
        "Clip",
        "Compress",
        "Concat",
        "DepthToSpace",
        "Div",
        "Equal",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Greater",
        "GreaterOrEqual",
        "Identity",
        "Less",
        "LessOrEqual",
        "Max",
        "MaxPool",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "NonZero",
        "Pad",
        "ReduceMax",
        "ReduceMin",
        "ReduceSum",
        "Relu",
        "Reshape",
        "Resize",
        "ReverseSequence",
        "Scatter",
        "ScatterElements",
        "ScatterND",
        "Sign",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Sub",
        "Sum",
        "Tile",
        "TopK",
        "Transpose",
        "Unique",
        "Unsqueeze",
        "Upsample",
        "Where",
    ]
)
_BY_DOUBLE = frozenset({"Erf", "ReduceLogSum", "ReduceLogSumExp"})
"""Operators that once accepted integers, which they compute in float."""


def admits(op: str, version: int, types: Sequence[Type | None]) -> str:
    """The first type that no operand or result of this version admits; "" for none."""
    usual, known = _admitted(op, version)
    if all(isinstance(type_, Tensor) and type_.dtype in usual for type_ in types):
        return ""
    words = (type_word(type_) for type_ in types)
    return next((word for word in words if word and word not in known), "")


@cache
def _admitted(op: str, version: int) -> tuple[frozenset[DType], frozenset[str]]:
    """The element types that every operand and result admits, and all type words."""
    schema = ops.schema("", op, version)
    if schema is None:
        return frozenset(), frozenset()
    formals = (*schema.inputs, *schema.outputs)
    every = frozenset().union(*(each.types for each in formals))
    usual = (
        dtype
        for dtype in DType
        if all(f"tensor({ops.element_word(dtype)})" in each.types for each in formals)
    )
    return frozenset(usual), every


def type_word(type_: Type | None) -> str:
    """The schemas' word for a type: `seq(tensor(float))`; "" if it is unknown."""
    match type_:
        case Tensor(DType() as dtype):
            return f"tensor({ops.element_word(dtype)})"
        case Sparse(DType() as dtype):
            return f"sparse_tensor({ops.element_word(dtype)})"
        case SequenceType(element):
            return f"seq({word})" if (word := type_word(element)) else ""
        case Optional(element):
            return f"optional({word})" if (word := type_word(element)) else ""
    return ""


def lifted(at: Rewriter, step: Leaf) -> bool:
    """Whether the step needs a wider type; `at` then holds the replacing steps.

    Raises NoForm if no wider type is admitted.
    """
    usual = _admitted(step.op, step.version)[0]
    types = [at.fact(value).type for value in (*step.operands, *step.results) if value is not None]
    if all(isinstance(type_, Tensor) and type_.dtype in usual for type_ in types):
        return False
    refused = dict(_refused(at, step))
    if not refused:
        return False
    for dtype in refused.values():
        if not _may_widen(step.op, dtype):
            word = ops.element_word(dtype)
            raise NoForm(f"{step.op}-{step.version} does not take {word}", f"avoid {word} here")
    _widen(at, step, {v: _wider(step, v, dtype) for v, dtype in refused.items()})
    return True


def _may_widen(op: str, dtype: DType) -> bool:
    return op in _EXACT or op in _BY_DOUBLE or dtype in _NARROW_FLOATS


def _wider(step: Leaf, variable: str, dtype: DType) -> DType:
    schema = ops.schema("", step.op, step.version)
    assert schema is not None
    types = next(f.types for f in (*schema.inputs, *schema.outputs) if f.variable == variable)
    wanted = (DType.FLOAT64, DType.FLOAT32) if step.op in _BY_DOUBLE else _WIDER.get(dtype, ())
    for each in wanted:
        if f"tensor({ops.element_word(each)})" in types:
            return each
    raise NoForm(
        f"{step.op}-{step.version} takes neither {ops.element_word(dtype)} nor what holds it",
        "cast it to another element type in the model",
    )


def _refused(at: Rewriter, step: Leaf) -> Iterator[tuple[str, DType]]:
    """The type variables of the schema, and the element types they exclude."""
    for variable, types, value in _formals(step):
        type_ = at.fact(value).type
        word = type_word(type_)
        if not word or word in types:
            continue
        if not isinstance(type_, Tensor) or type_.dtype is None:
            raise NoForm(f"{step.op}-{step.version} does not take {word}")
        yield variable, type_.dtype


def _formals(step: Leaf) -> Iterator[tuple[str, frozenset[str], Value | None]]:
    schema = ops.schema("", step.op, step.version)
    if schema is None:
        return
    for formals, values in ((schema.inputs, step.operands), (schema.outputs, step.results)):
        for position, value in enumerate(values):
            if value is not None and formals:
                formal = formals[min(position, len(formals) - 1)]
                yield formal.variable, formal.types, value


def _widen(at: Rewriter, step: Leaf, wider: Mapping[str, DType]) -> None:
    variables = {value: variable for variable, _, value in _formals(step) if variable in wider}
    given = {
        value: at.cast(value, wider[variables[value]])
        for value in dict.fromkeys(step.operands)
        if value is not None and value in variables
    }
    made = {v: at.value("wide") for v in step.results if v is not None and v in variables}
    at.add(with_results(with_operands(step, given), made))
    for result, wide in made.items():
        back = at.cast(wide, at.dtype(result))
        at.steps[-1] = with_results(at.steps[-1], {back: result})
