"""Converts run-time values to OrtValues and back; numeric tensors share their memory."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeGuard

import numpy as np

from treadle import ops
from treadle.delegate.identity import FED, constant, identity_session, made_by
from treadle.delegate.io_types import WIDE
from treadle.delegate.ort_errors import translating_errors
from treadle.errors import InputError, Unsupported
from treadle.ir import (
    Attribute,
    Constant,
    DType,
    Kind,
    Literal,
    Optional,
    Sparse,
    Tensor,
    Type,
    Value,
    dtype_of,
)
from treadle.ir import Sequence as SequenceOf

_BYTES = {1: np.uint8, 2: np.uint16}
_NUMBERS = {number: dtype for dtype, number in WIDE.items()}


def is_ortvalue(value: object) -> TypeGuard[Any]:
    """Whether it is an OrtValue of onnxruntime, of its Python or of its C++ class."""
    if "onnxruntime" not in sys.modules:
        return False
    return type(value).__name__ == "OrtValue" and type(value).__module__.startswith("onnxruntime.")


def from_ortvalue(value: Any, type_: Type | None) -> object:
    """The run-time value of an OrtValue; a tensor in CPU memory is not copied.

    `type_` is the type of the input it is fed to; it must be known for lists, maps and strings.
    """
    inner = getattr(value, "_ortvalue", value)
    if not inner.has_value():
        return None
    if inner.is_tensor():
        return _array(inner)
    if type_ is None:
        raise InputError("an OrtValue that is not a tensor is fed to an input without a type")
    from onnxruntime import OrtValue

    if inner.is_sparse_tensor():
        if isinstance(type_, Sparse):
            return OrtValue(inner)
        raise InputError("an OrtValue of a sparse tensor is given, wanted a dense one")
    return identity_session(type_).run(None, {FED: OrtValue(inner)})[0]


def _array(inner: Any) -> np.ndarray:
    dtype = _NUMBERS.get(inner.element_type())
    if dtype is None or inner.device_name().lower() != "cpu":
        return np.asarray(inner.numpy())
    raw = memory(inner.data_ptr(), inner.tensor_size_in_bytes(), inner)
    return raw.view(dtype.numpy).reshape(tuple(inner.shape()))


def memory(address: int, size: int, owner: object = None) -> np.ndarray:
    """An array over the bytes at an address; it keeps `owner` alive."""
    if not size:
        return np.empty(0, np.uint8)
    buffer: Any = (ctypes.c_uint8 * size).from_address(address)
    buffer.owner = owner  # keeps `owner` alive as long as the array
    return np.asarray(np.frombuffer(buffer, np.uint8))


def to_ortvalue(
    value: Any, type_: Type | None = None, device_type: str = "cpu", device_id: int = 0
) -> Any:
    """Make an OrtValue over a run-time value; numbers in CPU memory are not copied.

    `type_` is needed for lists, strings and absent optionals. Raises Unsupported for values that
    onnxruntime cannot represent: a map, or a type it does not have.
    """
    from onnxruntime import OrtValue

    if isinstance(value, np.ndarray) and value.dtype != object:
        array = np.ascontiguousarray(value).reshape(value.shape)
        number = WIDE.get(dtype_of(array.dtype) or DType.FLOAT32)
        if number is None:
            return _placed(array, device_type, device_id)
        raw = array.view(_BYTES[array.itemsize])
        return OrtValue.ortvalue_from_numpy_with_onnx_type(raw, number)
    if isinstance(value, np.ndarray):
        kind = Tensor(DType.STRING, tuple(value.shape))
        return constant(Constant(Value("c"), Literal.of(value)), kind)
    if isinstance(value, list):
        return _list([to_ortvalue(item) for item in value], type_)
    if value is None and type_ is not None:
        element = type_.element if isinstance(type_, Optional) else type_
        return made_by("Optional", Optional(element), attributes=_attribute("type", element))
    raise Unsupported("OrtValue", None, f"onnxruntime has no OrtValue for a {type(value).__name__}")


def to_own_ortvalue(value: Any, type_: Type | None = None) -> Any:
    """Make an OrtValue that has its own memory, for callers that keep no array."""
    made = to_ortvalue(value, type_)
    if not isinstance(value, np.ndarray) or value.dtype == object:
        return made
    kind = Tensor(dtype_of(value.dtype), tuple(value.shape))
    return identity_session(kind).run_with_ort_values(None, {FED: made})[0]


def _placed(array: np.ndarray, device_type: str, device_id: int) -> Any:
    from onnxruntime import OrtValue

    put = partial(OrtValue.ortvalue_from_numpy, array, device_type, device_id)
    if device_type == "cpu":
        return put()
    return translating_errors(put, partial(Unsupported, f"memory of {device_type}", None))


def device(device_type: str, device_id: int) -> Any:
    """Onnxruntime's object for a device; raises InputError if it has none of this name."""
    from onnxruntime import OrtDevice

    try:
        return OrtDevice.make(device_type, device_id)
    except Exception as unknown:  # onnxruntime raises Exception itself
        raise InputError(f"there is no device {device_type!r:.60}") from unknown


def _list(items: Sequence[Any], type_: Type | None) -> Any:
    if items:
        element = Tensor(ops.element_from_proto(items[0].element_type()))
        return made_by("SequenceConstruct", SequenceOf(element), items, element)
    if not isinstance(type_, SequenceOf) or not isinstance(type_.element, Tensor):
        raise Unsupported("OrtValue", None, "an empty list does not show its element type")
    number = ops.element_to_proto(type_.element.dtype)
    return made_by("SequenceEmpty", type_, attributes=_attribute("dtype", number))


def _attribute(name: str, value: Any) -> dict[str, Attribute]:
    return {name: Attribute(name, Kind.INT if isinstance(value, int) else Kind.TYPE, value)}


def ortvalues(vector: Sequence[Any]) -> Any:
    """The OrtValues as a vector of onnxruntime."""
    from onnxruntime.capi import onnxruntime_pybind11_state as binding

    made = binding.OrtValueVector()
    for value in vector:
        made.push_back(getattr(value, "_ortvalue", value))
    return made


def processor_memory() -> Any:
    """Onnxruntime's name for CPU memory."""
    import onnxruntime as ort

    kind = ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR
    return ort.OrtMemoryInfo("Cpu", kind, 0, ort.OrtMemType.DEFAULT)


def processor() -> Any:
    """Onnxruntime's device object for the CPU."""
    import onnxruntime

    devices = onnxruntime.get_ep_devices()
    return next((each for each in devices if each.ep_name == "CPUExecutionProvider"), None)


def of_onnxruntime(name: str) -> Any:
    """The object of onnxruntime with this name."""
    import onnxruntime

    return getattr(onnxruntime, name)
