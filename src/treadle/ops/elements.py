"""The standard's encodings of types: TensorProto numbers of element types, and type strings."""

from __future__ import annotations

from onnx import TensorProto

from treadle.errors import LoadError
from treadle.ir import DType, Map, Optional, Sequence, Sparse, Tensor, Type

_PROTO_NAMES = {DType.FLOAT32: "FLOAT", DType.FLOAT64: "DOUBLE"}
_TO_PROTO = {
    dtype: int(TensorProto.DataType.Value(_PROTO_NAMES.get(dtype, dtype.value.upper())))
    for dtype in DType
}
_FROM_PROTO = {number: dtype for dtype, number in _TO_PROTO.items()}
_WORDS = {DType.FLOAT32: "float", DType.FLOAT64: "double"}
_FROM_WORD = {_WORDS.get(dtype, dtype.value): dtype for dtype in DType}
_TENSORS = {dtype: f"tensor({word})" for word, dtype in _FROM_WORD.items()}


def element_to_proto(dtype: DType | None) -> int:
    """The TensorProto.DataType number; UNDEFINED (0) for None."""
    return 0 if dtype is None else _TO_PROTO[dtype]


def element_from_proto(number: int) -> DType | None:
    """The element type of a TensorProto.DataType number; None for UNDEFINED.

    A number the standard does not have raises LoadError.
    """
    if number == TensorProto.UNDEFINED:
        return None
    if number not in _FROM_PROTO:
        raise LoadError(f"element type {number} is unknown to this build (1 to 28)")
    return _FROM_PROTO[number]


def element_word(dtype: DType) -> str:
    """The schemas' word for an element type: `float` for float32, `double` for float64."""
    return _WORDS.get(dtype, dtype.value)


def type_string(type_: Type | None, unknown: str | None = None) -> str | None:
    """Write the type as the standard's schemas do: `seq(tensor(float))`.

    `unknown` replaces unknown parts; if it is None, a type with unknown parts yields None.
    """
    if isinstance(type_, Tensor) and type_.dtype is not None:
        return _TENSORS[type_.dtype]
    match type_:
        case Tensor():
            return _wrapped("tensor(", unknown)
        case Sparse(dtype):
            return _wrapped("sparse_tensor(", _element(dtype, unknown))
        case Sequence(element):
            return _wrapped("seq(", type_string(element, unknown))
        case Optional(element):
            return _wrapped("optional(", type_string(element, unknown))
        case Map(key, element):
            word = _element(key, unknown)
            return word and _wrapped(f"map({word},", type_string(element, unknown))
    return unknown


def tensor_of_string(text: str) -> Tensor | None:
    """The tensor type of a type string; None for a type that is not a tensor."""
    if not text.startswith("tensor("):
        return None
    return Tensor(_FROM_WORD[text.removeprefix("tensor(").removesuffix(")")])


def _element(dtype: DType | None, unknown: str | None) -> str | None:
    return unknown if dtype is None else element_word(dtype)


def _wrapped(opening: str, inside: str | None) -> str | None:
    return None if inside is None else f"{opening}{inside})"
