"""How values cross into onnxruntime and back.

Measured on onnxruntime 1.31 (Python API): numbers, truth values and strings go as numpy arrays,
sequences as lists, an empty optional as None. bfloat16 and float8 have no numpy type there and go
as OrtValues over their bytes. complex and float8e8m0 it does not have; int4, uint4, float4, int2
and uint2 it has no Identity for, so they do not reach a border.
"""

from __future__ import annotations

from treadle.ir import DType, Map, Optional, Sequence, Sparse, Tensor, Type, Value

PLAIN = frozenset(
    DType(name)
    for name in (
        "float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16",
        "uint32", "uint64", "bool", "string",
    )
)  # fmt: skip


def border_refusal(value: Value, *, is_input: bool) -> str:
    """Why the value cannot cross a border; "" where it can."""
    type_ = value.type
    if type_ is None or _is_open(type_):
        return f"the type of {value.name!r} is not known" if is_input else ""
    return _refusal(type_, value.name)


def _is_open(type_: Type) -> bool:
    match type_:
        case Tensor(dtype, _):
            return dtype is None
        case Sequence(element) | Optional(element):
            return element is None or _is_open(element)
    return False


def _refusal(type_: Type, name: str) -> str:
    match type_:
        case Tensor(dtype, _) if dtype not in PLAIN:
            return f"onnxruntime's Python interface does not carry {dtype} ({name!r})"
        case Sequence(element) | Optional(element) if element is not None:
            return _refusal(element, name)
        case Map() | Sparse():
            return f"onnxruntime's Python interface does not carry {type_} ({name!r})"
    return ""
