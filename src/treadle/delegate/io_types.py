"""The Python types in which values enter and leave onnxruntime.

Measured on onnxruntime 1.31 (Python API): numbers, bools and strings are passed as numpy arrays,
sequences as lists, an empty optional as None. bfloat16 and float8 have no numpy type there and go
as OrtValues over their bytes, so not together with lists. It lacks complex and float8e8m0; for
int4, uint4, float4, int2 and uint2 it has no Identity, so they never leave a region. A sparse
tensor is passed as the OrtValue it came as.
"""

from __future__ import annotations

from collections.abc import Iterable

from treadle.ir import DType, Map, Optional, Sequence, Sparse, Tensor, Type, Value

PLAIN = frozenset(
    DType(name)
    for name in (
        "float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16",
        "uint32", "uint64", "bool", "string",
    )
)  # fmt: skip


WIDE = {
    DType.BFLOAT16: 16,
    DType.FLOAT8E4M3FN: 17,
    DType.FLOAT8E4M3FNUZ: 18,
    DType.FLOAT8E5M2: 19,
    DType.FLOAT8E5M2FNUZ: 20,
}
"""Types that cross as bytes, with their number in ONNX."""


def crosses_as_bytes(value: Value) -> bool:
    """Whether the value is a tensor of a type that numpy arrays do not carry."""
    return isinstance(value.type, Tensor) and value.type.dtype in WIDE


def border_refusal(value: Value, *, is_input: bool) -> str:
    """Why the value cannot enter or leave onnxruntime; "" if it can."""
    if is_open(value):
        return f"the type of {value.name!r} is not known" if is_input else ""
    assert value.type is not None
    if isinstance(value.type, Sparse) and is_input:
        return ""
    return _refusal(value.type, value.name, is_alone=True)


def is_open(value: Value) -> bool:
    """Whether the value has no known type, or one without its element type."""
    return value.type is None or _is_open(value.type)


def mixture_refusal(values: Iterable[Value]) -> str:
    """Why these values cannot be passed together: OrtValues are passed for tensors only."""
    crossing = tuple(values)
    if not any(map(crosses_as_bytes, crossing)):
        return ""
    odd = [v.name for v in crossing if not (isinstance(v.type, Tensor) and v.type.dtype)]
    return f"{', '.join(odd)}: not a known tensor, next to bfloat16 or float8" if odd else ""


def _is_open(type_: Type) -> bool:
    match type_:
        case Tensor(dtype, _):
            return dtype is None
        case Sequence(element) | Optional(element):
            return element is None or _is_open(element)
    return False


def _refusal(type_: Type, name: str, is_alone: bool) -> str:
    match type_:
        case Tensor(DType() as dtype, _) if dtype not in PLAIN and not (is_alone and dtype in WIDE):
            return f"onnxruntime's Python interface does not carry {dtype} ({name!r})"
        case Sequence(element) | Optional(element) if element is not None:
            return _refusal(element, name, is_alone=False)
        case Map() | Sparse():
            return f"onnxruntime's Python interface does not carry {type_} ({name!r})"
    return ""
