"""IOBinding: the inputs and outputs of a session, bound once for many runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from treadle import delegate, ops
from treadle.boundary import public
from treadle.errors import ConfigurationError, InputError, InputTypeError, did_you_mean
from treadle.feeds import NodeArg
from treadle.ir import DType, dtype_of
from treadle.messages import visible

__all__ = ["Bound", "IOBinding"]

_CPU = "cpu"


class Bound(Protocol):
    """A session, as seen by a binding."""

    def get_inputs(self) -> Sequence[NodeArg]:
        """The inputs that must be fed."""
        ...

    def get_overridable_initializers(self) -> Sequence[NodeArg]:
        """The inputs that may be fed."""
        ...

    @public
    def get_outputs(self) -> Sequence[NodeArg]:
        """The outputs."""
        ...

    def run(self, output_names: Sequence[str], input_feed: Any, run_options: Any, /) -> list[Any]:
        """Run the model; the values of the requested outputs, in their order."""
        ...

    def output_type(self, name: str) -> Any:
        """The type of an output, if it is known."""
        ...


class IOBinding:
    """Inputs and outputs bound to memory: made by `session.io_binding()`.

    Inputs are read in place, at every run. An output bound to memory is copied there after the run,
    so the memory may also be an input's; its dtype and shape must be those of the output. Other
    outputs are new arrays.
    """

    @public
    def __init__(self, session: Bound | Any) -> None:
        if not hasattr(session, "io_binding"):
            raise InputTypeError(f"a {type(session).__name__} is given, wanted a session")
        self.session = session
        self._feeds: dict[str, Any] = {}
        self._places: dict[str, _Place] = {}
        self._made: dict[str, Any] = {}

    @public
    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray | Any) -> None:
        """Bind an array to an input; its changes are seen by the next run."""
        if not isinstance(arr_on_cpu, np.ndarray):
            given = type(arr_on_cpu).__name__
            raise ConfigurationError(f'input "{name}" is bound to {given}, wanted an array')
        self._bind(name, arr_on_cpu)

    @public
    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Bind the memory at an address to an input.

        `element_type` is a numpy dtype or ONNX's number.
        """
        _expect_cpu(name, device_type, "bind_ortvalue_input")
        self._bind(name, _at(buffer_ptr, element_type, shape))

    @public
    def bind_ortvalue_input(self, name: str, ortvalue: Any) -> None:
        """Bind an OrtValue to an input."""
        _expect_ortvalue(name, ortvalue)
        self._bind(name, ortvalue)

    def _bind(self, name: str, value: Any) -> None:
        session = self.session
        known = [a.name for a in (*session.get_inputs(), *session.get_overridable_initializers())]
        if name not in known:
            hint = did_you_mean(str(name), known)
            raise ConfigurationError(visible(f'the model has no input "{name}", {hint}'))
        self._feeds[name] = value

    @public
    def bind_output(
        self,
        name: str,
        device_type: str = _CPU,
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Bind an output to new memory of a device, or to the memory at an address."""
        delegate.device(device_type, device_id)
        if buffer_ptr is None:
            self._places[name] = _Place(device=(device_type, device_id))
            return
        if element_type is None or shape is None:
            raise InputError("element_type and shape are wanted where an address is given")
        _expect_cpu(name, device_type, "bind_ortvalue_output")
        self._places[name] = _Place(array=_at(buffer_ptr, element_type, shape))

    @public
    def bind_ortvalue_output(self, name: str, ortvalue: Any) -> None:
        """Bind an output to the memory of an OrtValue."""
        _expect_ortvalue(name, ortvalue)
        array = None
        if ortvalue.device_name() == _CPU:
            array = delegate.from_ortvalue(ortvalue, None)
        self._places[name] = _Place(array, ortvalue)

    def synchronize_inputs(self) -> None:
        """Wait until inputs are in place: they always are."""

    def synchronize_outputs(self) -> None:
        """Wait until outputs are in place: they are, once a run has ended."""

    def run(self, run_options: Any = None) -> None:
        """Run the session, as `session.run_with_iobinding` does."""
        if not self._places:
            raise ConfigurationError("no output is bound: At least one output should be requested.")
        names = list(self._places)
        try:
            made = self.session.run(names, dict(self._feeds), run_options)
        except InputTypeError:
            raise
        except InputError as fault:
            raise ConfigurationError(str(fault)) from None
        for name, value in zip(names, made, strict=True):
            self._made[name] = self._places[name].take(name, value)

    @public
    def get_outputs(self) -> list[Any]:
        """The outputs of the last run as OrtValues, in the order in which they were bound."""
        return [self._ortvalue(name) for name in self._places if name in self._made]

    def _ortvalue(self, name: str) -> Any:
        binding, value = self._places[name], self._made[name]
        if binding.ortvalue is not None:
            return binding.ortvalue
        return delegate.to_ortvalue(value, self.session.output_type(name), *binding.device)

    def get_outputs_as_ortvaluevector(self) -> Any:
        """The outputs of the last run as onnxruntime's OrtValueVector."""
        return delegate.ortvalues(self.get_outputs())

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The outputs of the last run as arrays, and lists of them; each in new memory."""
        return [_copied(self._made[name]) for name in self._places if name in self._made]

    def clear_binding_inputs(self) -> None:
        """Remove all bindings of inputs."""
        self._feeds.clear()

    def clear_binding_outputs(self) -> None:
        """Remove all bindings of outputs."""
        self._places.clear()
        self._made.clear()


class _Place:
    """The destination of an output: an array, an OrtValue, or new memory of a device."""

    __slots__ = ("array", "device", "ortvalue")

    @public
    def __init__(
        self,
        array: Any = None,
        ortvalue: Any = None,
        device: tuple[str, int] = (_CPU, 0),
    ) -> None:
        self.array, self.ortvalue, self.device = array, ortvalue, device

    def take(self, name: str, value: Any) -> Any:
        """Write an output to its destination, and return the value visible there."""
        if self.array is None:
            if self.ortvalue is not None:
                self.ortvalue.update_inplace(value)
            return value
        if not isinstance(value, np.ndarray):
            given = type(value).__name__
            raise ConfigurationError(f'output "{name}" is a {given}, and bound to a tensor')
        if value.dtype != self.array.dtype or value.shape != self.array.shape:
            wanted = f"{dtype_of(self.array.dtype)}{list(self.array.shape)}"
            made = f"{dtype_of(value.dtype)}{list(value.shape)}"
            raise ConfigurationError(f'output "{name}" is {made}, and bound to {wanted}')
        np.copyto(self.array, value)
        return self.array


def _expect_cpu(name: str, device_type: str, instead: str) -> None:
    delegate.device(device_type, 0)
    if device_type != _CPU:
        raise ConfigurationError(
            f'"{name}" is bound to an address of {device_type}, whose memory is not read from here;'
            f" bind an OrtValue of that device: {instead}"
        )


def _expect_ortvalue(name: str, value: object) -> None:
    if not delegate.is_ortvalue(value):
        raise InputTypeError(f'"{name}" is bound to a {type(value).__name__}, wanted an OrtValue')


def _at(address: int, element_type: Any, shape: Sequence[int]) -> np.ndarray:
    """The array of these elements and this shape at an address."""
    if isinstance(element_type, int):
        element = ops.element_from_proto(element_type)
    else:
        element = dtype_of(np.dtype(element_type))
    if element is None or element is DType.STRING:
        raise ConfigurationError(f"there are no elements of type {element_type} in memory")
    dtype = element.numpy
    size = math.prod(shape) * dtype.itemsize
    return delegate.memory(address, size).view(dtype).reshape(tuple(shape))


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value.copy() if isinstance(value, np.ndarray) else value
