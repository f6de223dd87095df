"""Converts feeds to run-time values: arrays, lists, absent optionals; or raises a clear error.

onnxruntime requires numpy arrays of exactly the right dtype. Here a Python or numpy scalar or a
nested list is accepted if its values fit the dtype without loss; arrays must have the dtype, since
a silent cast of a caller's data would hide mistakes.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from treadle import ops
from treadle.arguments import shown
from treadle.errors import ConfigurationError, InputError, did_you_mean
from treadle.ir import (
    DType,
    Map,
    Optional,
    Sequence,
    Sparse,
    Symbol,
    Tensor,
    Type,
    dtype_of,
    shape_admits,
    show_array,
    show_type,
)
from treadle.messages import a_or_an, visible

__all__ = ["InputBinder", "NodeArg", "bind", "convert", "disagreement", "node_arg"]

_MOST_SHAPES = 64
_ORT_VALUE = "OrtValue"


@dataclass(frozen=True, slots=True)
class NodeArg:
    """An input or output of a model, as onnxruntime describes it: `tensor(float)`, [2, "T"]."""

    name: str
    type: str
    shape: list[int | str | None]


def node_arg(name: str, type_: Type | None) -> NodeArg:
    """The description of a value of this name and type."""
    shape = type_.shape if isinstance(type_, Tensor) else None
    dims = [dim if isinstance(dim, int) or dim is None else str(dim) for dim in shape or ()]
    return NodeArg(name, _type_string(type_), dims)


def _type_string(type_: Type | None) -> str:
    """The type as onnxruntime writes it: `tensor(float)`, `seq(tensor(int64))`; "" if unknown."""
    return "" if type_ is None else ops.type_string(type_, "?") or ""


Shapes = set[tuple[int, ...]]


@dataclass(frozen=True, eq=False, slots=True)
class CachedInput:
    """A cached check of one input: arrays of a dtype and shapes that were accepted before.

    `fits` is the check for strings, lists and optionals, whose dtype is None here.
    """

    name: str
    dtype: np.dtype[Any] | None
    shapes: Shapes
    fits: Callable[[object], bool]


@dataclass(frozen=True, eq=False, slots=True)
class InputBinder:
    """Binds feeds to the inputs of a model, many times."""

    inputs: Mapping[str, Type | None]
    admitted: tuple[CachedInput, ...]

    @classmethod
    def of(cls, inputs: Mapping[str, Type | None]) -> InputBinder:
        """A binder that has not seen any feeds."""
        return cls(inputs, tuple(_admitted(name, type_) for name, type_ in inputs.items()))

    def known(self, given: Mapping[str, object]) -> list[object] | None:
        """The fed values in the order of the inputs.

        None if a value differs from the cached checks.
        """
        if len(given) != len(self.admitted):
            return None
        values: list[object] = []
        for each in self.admitted:
            value, dtype = given.get(each.name), each.dtype
            if dtype is None:
                if not each.fits(value):
                    return None
            elif (
                type(value) is not np.ndarray
                or value.shape not in each.shapes
                or value.dtype != dtype
            ):
                return None
            values.append(value)
        return values

    def __call__(self, given: Mapping[str, object]) -> list[object]:
        """The fed values in the order of the inputs, converted and checked; raises InputError."""
        values = bind(self.inputs, given)
        for each, value in zip(self.admitted, values, strict=True):
            if isinstance(value, np.ndarray):
                if len(each.shapes) >= _MOST_SHAPES:
                    each.shapes.clear()
                each.shapes.add(value.shape)
        return values


def _admitted(name: str, type_: Type | None) -> CachedInput:
    shapes: Shapes = set()
    dtype = type_.dtype if isinstance(type_, Tensor) else None
    plain = None if dtype is None or dtype is DType.STRING else dtype.numpy
    return CachedInput(name, plain, shapes, _fits(type_, shapes))


def _fits(type_: Type | None, shapes: Shapes) -> Callable[[object], bool]:
    """The check whether a value needs no conversion, for values other than numeric arrays."""
    match type_:
        case Tensor(DType.STRING):
            return partial(_is_text, shapes)
        case Sequence(Tensor(DType() as dtype)) if dtype is not DType.STRING:
            return lambda value: type(value) is list and _all_of(value, dtype)
    return lambda value: False


def _is_text(shapes: Shapes, value: object) -> bool:
    if type(value) is not np.ndarray or value.dtype != object or value.shape not in shapes:
        return False
    return all(type(item) is str for item in value.ravel().tolist())


def bind(inputs: Mapping[str, Type | None], given: Mapping[str, object]) -> list[object]:
    """Convert and check the fed values, in the order of the inputs; reports all faults at once."""
    faults, kinds = [], {InputError}
    if given.keys() != inputs.keys():
        faults += _wrong_names(inputs, given)
    values: list[object] = []
    for name, type_ in inputs.items():
        if name not in given:
            values += [None] if isinstance(type_, Optional) else []
            continue
        try:
            values.append(convert(given[name], type_))
        except InputError as fault:
            faults.append(visible(f'input "{name}": {fault}'))
            kinds.add(type(fault))
    if faults:
        kind = ConfigurationError if ConfigurationError in kinds else InputError
        raise kind("; ".join(faults))
    return values


def disagreement(inputs: Mapping[str, Type | None], given: Mapping[str, object]) -> str:
    """Describe the named extents for which the fed arrays have different lengths; "" if none.

    This is allowed, and some models name extents carelessly; but if a run fails because of it, the
    error should mention it.
    """
    lengths: dict[str, dict[int, str]] = {}
    for name, type_ in inputs.items():
        array = given.get(name)
        if not isinstance(type_, Tensor) or not isinstance(array, np.ndarray):
            continue
        for axis, (dim, extent) in enumerate(zip(type_.shape or (), array.shape, strict=False)):
            if isinstance(dim, Symbol):
                where = f"{extent} in {name} ({show_array(array)}, axis {axis})"
                lengths.setdefault(dim.name, {}).setdefault(extent, where)
    faults = (
        f'"{symbol}" is {" and ".join(found.values())}'
        for symbol, found in lengths.items()
        if len(found) > 1
    )
    return "; ".join(faults)


def _wrong_names(inputs: Mapping[str, Type | None], given: Iterable[str]) -> list[str]:
    given = list(given)
    faults = [
        visible(f'input "{name}" is missing, it wants {show_type(type_)}')
        for name, type_ in inputs.items()
        if name not in given and not isinstance(type_, Optional)
    ]
    faults += [
        visible(f'the model has no input "{name}", {did_you_mean(str(name), inputs)}')
        for name in given
        if name not in inputs
    ]
    return faults


def convert(value: object, type_: Type | None) -> object:
    """Convert a fed object to a run-time value of a type; raises InputError."""
    if type(value) is np.ndarray and isinstance(type_, Tensor):
        dtype = type_.dtype
        if dtype is not None and value.dtype == dtype.numpy and dtype is not DType.STRING:
            return _shaped(value, type_)
    if type(value).__name__ == _ORT_VALUE:
        value = _held(value, type_)
    return _converter(type_)(value, type_)


def _held(value: object, type_: Type | None) -> object:
    """The content of an OrtValue; any other object unchanged."""
    from treadle import delegate

    return delegate.from_ortvalue(value, type_) if delegate.is_ortvalue(value) else value


def _converter(type_: Type | None) -> Callable[[Any, Any], object]:
    return _CONVERTERS.get(type(type_), _anything)


def _tensor(value: object, type_: Tensor) -> object:
    if value is None:
        raise InputError(f"None is no {show_type(type_)}")
    array = value if isinstance(value, np.ndarray) else _array(value, type_)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    found = dtype_of(array.dtype)
    if found is None:
        raise InputError(f"{show_array(array)} is given, {show_type(type_)} is wanted")
    if type_.dtype is not None and found is not type_.dtype:
        raise InputError(
            f"{show_array(array)} is given, {show_type(type_)} is wanted; convert it with"
            f" .astype({str(type_.dtype)!r})"
        )
    return _shaped(_strings(array) if found is DType.STRING else array, type_)


def _shaped(array: np.ndarray, type_: Tensor) -> np.ndarray:
    if not shape_admits(type_.shape, array.shape):
        raise InputError(f"{show_array(array)} is given, {show_type(type_)} is wanted")
    return array


def _strings(array: np.ndarray) -> np.ndarray:
    if array.dtype == object and all(isinstance(item, str) for item in array.flat):
        return array
    try:
        texts = [_text(item) for item in array.flat]
    except UnicodeDecodeError as error:
        raise InputError(f"strings are UTF-8, these bytes are not: {error}") from None
    if not all(isinstance(item, str) for item in texts):
        raise InputError("strings are wanted, the array holds other objects too")
    result = np.empty(len(texts), object)
    result[:] = [str(item) for item in texts]
    return result.reshape(array.shape)


def _text(item: object) -> object:
    if isinstance(item, np.void):  # numpy keeps trailing zeros of these
        item = item.tobytes()
    return item.decode() if isinstance(item, bytes) else item


def _array(value: object, type_: Tensor) -> np.ndarray:
    # scalars and nested lists: their values decide whether they fit, not the dtype numpy guesses
    try:
        guess = np.asarray(value)
    except ValueError:
        wanted = f"a nested list for {show_type(type_)} is wanted"
        raise InputError(f"{wanted}, its lists are not equally long or deep") from None
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  border: __array__ of the caller's object
        raise InputError(f"{shown(value)} does not become an array: {error}") from None
    is_text = type_.dtype is DType.STRING or guess.dtype.kind in "UST"
    if type_.dtype is None or is_text or guess.dtype == type_.dtype.numpy:
        return guess
    # objects: an integer beyond 64 bits, or not a number
    is_other = guess.dtype.kind == "O" or guess.dtype.type in (np.void, np.record)
    array = None if is_other else _fitted(guess, type_.dtype.numpy)
    if array is None:
        raise InputError(f"{reprlib.repr(value)} does not fit {show_type(type_)}")
    return array


def _fitted(guess: np.ndarray, wanted: np.dtype[Any]) -> np.ndarray | None:
    """The values in the wanted dtype, floats rounded; None if they do not fit."""
    if guess.size and wanted.kind == "b" != guess.dtype.kind:
        return None
    with np.errstate(all="ignore"):
        try:
            array = guess.astype(wanted)
        except (TypeError, ValueError):  # dates, records
            return None
        if guess.dtype.kind in "fc" and wanted.kind not in "biu" and "int" not in wanted.name:
            back = array.astype(guess.dtype)
            return array if (np.isfinite(back) == np.isfinite(guess)).all() else None
        return array if _same_numbers(array, guess) else None


def _same_numbers(array: np.ndarray, guess: np.ndarray) -> bool:
    # compared as Python's numbers if both are integers: numpy compares int64 and uint64 as floats,
    # and a number too large would come back as itself when it wraps around
    if array.dtype.kind in "iu" and guess.dtype.kind in "iu":
        return bool(array.tolist() == guess.tolist())
    return bool((array.astype(guess.dtype) == guess).all())


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return show_array(value)
    return "None" if value is None else a_or_an(type(value).__name__)


def _sequence(value: object, type_: Sequence) -> object:
    if not isinstance(value, list | tuple):
        raise InputError(f"{_kind(value)} is given, a list for {show_type(type_)} is wanted")
    element, items = _of_any_shape(type_.element), []
    if isinstance(element, Tensor) and _all_of(value, element.dtype):
        return list(value)
    for position, item in enumerate(value):
        try:
            items.append(convert(item, element))
        except InputError as fault:
            raise InputError(f"item {position}: {fault}") from None
    return items


def _all_of(items: list[object] | tuple[object, ...], dtype: DType | None) -> bool:
    if dtype is None or dtype is DType.STRING:
        return False
    wanted = dtype.numpy
    return all(type(item) is np.ndarray and item.dtype == wanted for item in items)


def _of_any_shape(type_: Type | None) -> Type | None:
    # items of a sequence may differ in shape, and files declare the shape of the first one
    return Tensor(type_.dtype) if isinstance(type_, Tensor) else type_


def _optional(value: object, type_: Optional) -> object:
    return None if value is None else convert(value, type_.element)


def _map(value: object, type_: Map) -> object:
    if not isinstance(value, dict):
        raise ConfigurationError(
            f"{_kind(value)} is given, a dict for {show_type(type_)} is wanted"
        )
    dtype = type_.element.dtype if isinstance(type_.element, Tensor) else None
    return {_key(key, type_): _number(each, dtype) for key, each in value.items()}


def _key(key: object, type_: Map) -> object:
    is_text = type_.key is DType.STRING
    if isinstance(key, str if is_text else int | np.integer):
        return str(key) if is_text else int(key)
    raise ConfigurationError(f"the key {key!r:.60} is given, {show_type(type_)} is wanted")


def _number(value: Any, dtype: DType | None) -> object:
    """The value of a map's entry in the dtype of the map: a numpy scalar, or a string."""
    if dtype is None or dtype is DType.STRING or isinstance(value, np.ndarray | list | dict):
        return value
    try:
        return dtype.numpy.type(value)
    except (TypeError, ValueError):
        raise ConfigurationError(f"the value {value!r:.60} is given, {dtype} is wanted") from None


def _sparse(value: object, type_: Sparse) -> object:
    from treadle import delegate

    if delegate.is_ortvalue(value):
        return value
    given = type(value).__name__
    raise InputError(f"a {given} is given, an OrtValue of a sparse tensor for {type_} is wanted")


def _anything(value: object, type_: Type | None) -> object:
    if isinstance(value, list | dict) or value is None:
        return value
    return np.asarray(value)


_CONVERTERS: Mapping[type, Callable[[Any, Any], object]] = {
    Tensor: _tensor,
    Sequence: _sequence,
    Optional: _optional,
    Map: _map,
    Sparse: _sparse,
}
