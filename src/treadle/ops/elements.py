"""The standard's words for an element type: its TensorProto number and its type string."""

from __future__ import annotations

from onnx import TensorProto

from treadle.errors import LoadError
from treadle.ir import DType

_PROTO_NAMES = {DType.FLOAT32: "FLOAT", DType.FLOAT64: "DOUBLE"}
_TO_PROTO = {
    dtype: int(TensorProto.DataType.Value(_PROTO_NAMES.get(dtype, dtype.value.upper())))
    for dtype in DType
}
_FROM_PROTO = {number: dtype for dtype, number in _TO_PROTO.items()}
_WORDS = {DType.FLOAT32: "float", DType.FLOAT64: "double"}
_FROM_WORD = {_WORDS.get(dtype, dtype.value): dtype for dtype in DType}


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
        raise LoadError(f"element type {number} is not one this build knows (1 to 28)")
    return _FROM_PROTO[number]


def element_word(dtype: DType) -> str:
    """The word of the schemas' type strings: `float` for float32, `double` for float64."""
    return _WORDS.get(dtype, dtype.value)


def element_of_word(word: str) -> DType:
    """The element type a type string speaks of: the reverse of `element_word`."""
    return _FROM_WORD[word]
