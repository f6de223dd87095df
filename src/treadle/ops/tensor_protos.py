"""TensorProto and SparseTensorProto to `ir.Literal` and `ir.SparseArray`, and back.

Tensors are written as raw_data, little endian, sub-byte types packed from the low bits up (strings:
string_data). Tensors that are read may use raw_data or any typed field. Strings are UTF-8; invalid
bytes are kept as surrogates.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from onnx import SparseTensorProto, TensorProto

from treadle.errors import DataError
from treadle.ir import DType, External, Literal, SparseArray, dtype_of, show_shape
from treadle.ops.elements import element_from_proto, element_to_proto

_MOST_AXES = 64
_SHIFTED = (2, 4)
_FIELD_OF = {
    DType.FLOAT32: "float_data",
    DType.COMPLEX64: "float_data",
    DType.FLOAT64: "double_data",
    DType.COMPLEX128: "double_data",
    DType.INT64: "int64_data",
    DType.UINT32: "uint64_data",
    DType.UINT64: "uint64_data",
}
_FIELD_DTYPE: dict[str, type[np.generic]] = {
    "float_data": np.float32,
    "double_data": np.float64,
    "int64_data": np.int64,
    "uint64_data": np.uint64,
    "int32_data": np.int32,
}
_UNSIGNED: dict[int, type[np.generic]] = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def tensor_to_proto(literal: Literal) -> TensorProto:
    """The TensorProto of a literal; an external one gets its location and no data."""
    proto = TensorProto(name=literal.name, doc_string=literal.doc) if literal.doc else TensorProto()
    if literal.name:
        proto.name = literal.name
    proto.data_type = element_to_proto(literal.dtype)
    proto.dims.extend(literal.array.shape)
    for key, value in literal.metadata:
        proto.metadata_props.add(key=key, value=value)
    if literal.external is not None:
        _write_external(proto, literal.external)
    elif literal.dtype is DType.STRING:
        proto.string_data.extend(encode_strings(literal.array))
    else:
        proto.raw_data = pack(literal.array, literal.dtype)
    return proto


def tensor_from_proto(proto: TensorProto, array: np.ndarray | None = None) -> Literal:
    """The literal of a TensorProto; `array` is the data of an external tensor.

    Raises DataError if the data are missing or too short, or the element type is undefined.
    """
    dtype = element_from_proto(proto.data_type)
    if dtype is None:
        raise DataError(f"tensor {proto.name!r} has no element type")
    external = _read_external(proto) if is_external(proto) else None
    if array is None:
        array = _read_array(proto, dtype)
    metadata = tuple((entry.key, entry.value) for entry in proto.metadata_props)
    return Literal(array, dtype, proto.name, external, proto.doc_string, metadata)


def sparse_to_proto(sparse: SparseArray) -> SparseTensorProto:
    """The SparseTensorProto of a sparse array."""
    values, indices = tensor_to_proto(sparse.values), tensor_to_proto(sparse.indices)
    return SparseTensorProto(values=values, indices=indices, dims=sparse.shape)


def sparse_from_proto(proto: SparseTensorProto) -> SparseArray:
    """The sparse array of a SparseTensorProto."""
    values, indices = tensor_from_proto(proto.values), tensor_from_proto(proto.indices)
    _expect_possible(tuple(proto.dims), values.dtype, proto.values.name)
    array = SparseArray(values, indices, tuple(proto.dims))
    expect_sparse(array)
    return array


def expect_sparse(array: SparseArray) -> None:
    """Raise DataError unless the indices are whole numbers inside the shape, one per value."""
    count, indices = array.values.array.size, array.indices.array
    if indices.dtype.kind not in "iu":
        raise DataError(f"its indices are {array.indices.dtype}, wanted int64")
    shapes = ((count,), (count, len(array.shape)))
    if array.values.array.ndim != 1 or indices.shape not in shapes:
        wanted = " or ".join(map(show_shape, shapes))
        found = show_shape(indices.shape)
        raise DataError(f"{count} values want indices of shape {wanted}, found {found}")
    bounds = (math.prod(array.shape),) if indices.ndim == 1 else array.shape
    if count and ((indices < 0) | (indices >= bounds)).any():
        raise DataError(f"an index lies outside the shape {show_shape(array.shape)}")


def is_external(proto: TensorProto) -> bool:
    """Whether the tensor's data are in another file."""
    return bool(proto.data_location == TensorProto.EXTERNAL)


def array_from_bytes(
    data: bytes | memoryview | np.ndarray, dtype: DType, shape: tuple[int, ...], name: str = ""
) -> np.ndarray:
    """The array that these raw_data bytes encode; a view of them unless elements are packed."""
    _expect_possible(shape, dtype, name)
    count = math.prod(shape)
    packed = np.frombuffer(data, np.uint8)
    wanted = -(-count * dtype.bits // 8)
    if packed.size < wanted or (packed.size > wanted and dtype.bits % 8 == 0):
        raise DataError(
            f"tensor {name!r}: {dtype}{show_shape(shape)} takes {wanted} bytes,"
            f" {packed.size} are given"
        )
    if dtype.bits % 8:
        return unpack(packed, dtype, count).reshape(shape)
    if dtype is DType.BOOL:
        return _truths(packed).reshape(shape)
    array = packed.view(dtype.numpy).reshape(shape)
    return array if sys.byteorder == "little" else array.byteswap()


def pack(array: np.ndarray, dtype: DType) -> bytes:
    """The raw_data of an array: little endian, sub-byte elements packed from the low bits up."""
    if dtype.bits % 8:
        return _packed(np.ascontiguousarray(array).reshape(-1).view(np.uint8), dtype.bits)
    if sys.byteorder == "big":
        array = array.byteswap()
    return array.tobytes()


def unpack(data: np.ndarray, dtype: DType, count: int) -> np.ndarray:
    """Unpack the first `count` elements of a sub-byte type."""
    bits = dtype.bits
    if bits in _SHIFTED:
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        each = (data[:, np.newaxis] >> shifts) & np.uint8((1 << bits) - 1)
        return each.reshape(-1)[:count].view(dtype.numpy)
    single = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits)
    return np.packbits(single, axis=1, bitorder="little").reshape(-1).view(dtype.numpy)


def _packed(elements: np.ndarray, bits: int) -> bytes:
    single = np.unpackbits(elements, bitorder="little").reshape(-1, 8)[:, :bits]
    return np.packbits(single, bitorder="little").tobytes()


def encode_strings(array: np.ndarray) -> list[bytes]:
    """The elements of a string tensor as bytes of the file."""
    items = array.reshape(-1).tolist()
    return [i if isinstance(i, bytes) else str(i).encode("utf-8", "surrogateescape") for i in items]


def decode_string(data: bytes) -> str:
    """Decode a string of the file."""
    return data.decode("utf-8", "surrogateescape")


def _read_array(proto: TensorProto, dtype: DType) -> np.ndarray:
    if is_external(proto):
        raise DataError(f"tensor {proto.name!r}: its data are external; pass them as `array`")
    if proto.HasField("segment"):
        raise DataError(
            f"tensor {proto.name!r}: segments are not supported by the standard's tools"
        )
    shape = tuple(proto.dims)
    _expect_possible(shape, dtype, proto.name)
    if dtype is not DType.STRING and proto.HasField("raw_data"):
        return array_from_bytes(proto.raw_data, dtype, shape, proto.name)
    flat = _read_typed(proto, dtype, math.prod(shape))
    if flat.size != math.prod(shape):
        raise DataError(
            f"tensor {proto.name!r}: {dtype}{show_shape(shape)} wants {math.prod(shape)} elements,"
            f" {flat.size} are given"
        )
    return flat.reshape(shape)


def _expect_possible(shape: tuple[int, ...], dtype: DType, name: str) -> None:
    """Raise DataError for a shape that no array can have."""
    if min(shape, default=0) < 0:
        raise DataError(f"tensor {name!r} has a negative dim: {show_shape(shape)}")
    if len(shape) > _MOST_AXES:
        raise DataError(f"tensor {name!r} has {len(shape)} axes, at most {_MOST_AXES} are read")
    width = 8 if dtype is DType.STRING else dtype.numpy.itemsize
    # even if one of them is 0
    if math.prod(extent for extent in shape if extent) * width > sys.maxsize:
        raise DataError(
            f"tensor {name!r}: {dtype}{show_shape(shape)} is more than memory has addresses"
        )


def _read_typed(proto: TensorProto, dtype: DType, count: int) -> np.ndarray:
    if dtype is DType.STRING:
        strings = np.empty(len(proto.string_data), object)
        strings[:] = [decode_string(item) for item in proto.string_data]
        return strings
    field = _FIELD_OF.get(dtype, "int32_data")
    numbers: np.ndarray = np.array(getattr(proto, field), _FIELD_DTYPE[field])
    if dtype.bits in _SHIFTED:
        return unpack(numbers.astype(np.uint8), dtype, count)
    if dtype.bits % 8:
        return (numbers & ((1 << dtype.bits) - 1)).astype(np.uint8).view(dtype.numpy)
    if dtype is DType.BOOL:
        return numbers != 0
    if field == "int32_data":
        return numbers.astype(_UNSIGNED[dtype.numpy.itemsize]).view(dtype.numpy)
    if dtype.numpy.kind == "c":
        if numbers.size % 2:
            raise DataError(f"the last {dtype} has no imaginary part")
        return numbers.view(dtype.numpy)
    return numbers.astype(dtype.numpy)


def _truths(packed: np.ndarray) -> np.ndarray:
    if packed.size and packed.max() > 1:
        return packed != 0
    return packed.view(np.bool_)


def _write_external(proto: TensorProto, external: External) -> None:
    proto.data_location = TensorProto.EXTERNAL
    for key, value in external.entries:
        proto.external_data.add(key=key, value=value)


def _read_external(proto: TensorProto) -> External:
    entries = tuple((entry.key, entry.value) for entry in proto.external_data)
    return External(dict(entries).get("location", ""), entries)


def tensor_of(array: np.ndarray, name: str = "") -> TensorProto:
    """The TensorProto of a run-time array."""
    dtype = dtype_of(array.dtype)
    assert dtype is not None, f"no ONNX element type for {array.dtype}"
    return tensor_to_proto(Literal(array, dtype, name))
