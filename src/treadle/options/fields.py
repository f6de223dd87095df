"""Types of option fields: conversions, checked when a field is set.

A field accepts what onnxruntime's field accepts: numbers and bools are converted as its Python
interface does, everything else raises InputTypeError.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import IntEnum
from operator import index
from typing import Any, ClassVar, TypeVar

import numpy as np

from treadle.arguments import brief, expect
from treadle.errors import ConfigurationError, InputTypeError

__all__ = [
    "FILES",
    "LIST",
    "MAPPING",
    "OPTIONAL_COUNT",
    "OPTIONAL_NUMBER",
    "OPTIONAL_PATH",
    "PAIRS",
    "PATH",
    "TEXT",
    "TEXTS",
    "TRUTH",
    "WHOLE",
    "CheckedFields",
    "Conversion",
    "Named",
    "add_entry",
    "converted",
    "dim_extent",
    "look_up",
    "member_of",
]


class Named(IntEnum):
    """An integer with a name; prints as onnxruntime's enumerations do."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


Kind = TypeVar("Kind", bound=Named)
_INT32 = range(-(2**31), 2**31)
_LONGEST_KEY = 1024


def _truth(value: object) -> bool:
    if value is None or isinstance(value, bool | int | float | np.generic):
        return bool(value)
    raise InputTypeError


def _whole(value: Any) -> int:
    try:
        number = index(bool(value) if isinstance(value, np.bool_) else value)
    except TypeError:
        raise InputTypeError from None
    if number not in _INT32:
        raise InputTypeError
    return number


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value
    raise InputTypeError


def _path(value: object) -> str:
    path = _text(os.fspath(value) if isinstance(value, os.PathLike) else value)
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        raise InputTypeError from None
    if b"\0" in encoded:
        raise InputTypeError
    return path


def member_of(kind: type[Kind]) -> Callable[[object], Kind]:
    """The converter for a member of the enumeration: ours, or onnxruntime's of the same name."""

    def member(value: object) -> Kind:
        if type(value).__name__ != kind.__name__ or not hasattr(value, "name"):
            raise InputTypeError
        return kind[value.name]

    return member


def _maybe(convert: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda value: None if value is None else convert(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputTypeError
    if not value >= 0:  # rejects nan too
        raise InputTypeError
    return value  # type: ignore[return-value]  # numpy's numbers compare as Python's do


def _count(value: object) -> int:
    if isinstance(value, bool):
        raise InputTypeError
    try:
        count = index(value)  # type: ignore[arg-type]  # what is no number raises TypeError
    except TypeError:
        raise InputTypeError from None
    if count < 0:
        raise InputTypeError
    return count


def _mapping(value: object) -> object:
    if not isinstance(value, Mapping):
        raise InputTypeError
    return value


def _texts(value: object) -> object:
    if not isinstance(value, Mapping) or not all(
        isinstance(text, str) for pair in value.items() for text in pair
    ):
        raise InputTypeError
    return value


def _files(value: object) -> object:
    if not isinstance(value, Mapping) or not all(
        isinstance(data, bytes | bytearray | memoryview) for data in value.values()
    ):
        raise InputTypeError
    return value


def _pairs(value: object) -> object:
    if not isinstance(value, list) or not all(
        isinstance(pair, tuple) and len(pair) == 2 for pair in value
    ):
        raise InputTypeError
    return value


def _items(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise InputTypeError
    return value


Conversion = tuple[str, Callable[[Any], object]]
TRUTH: Conversion = ("True or False", _truth)
WHOLE: Conversion = ("a whole number of 32 bits", _whole)
TEXT: Conversion = ("a text", _text)
MAPPING: Conversion = ("a dict", _mapping)
TEXTS: Conversion = ("a dict of texts", _texts)
FILES: Conversion = ("a dict of bytes by file", _files)
PAIRS: Conversion = ("a list of pairs of a name and options", _pairs)
LIST: Conversion = ("a list", _items)
PATH: Conversion = ("a path", _path)
OPTIONAL_PATH: Conversion = ("a path, or None", _maybe(_path))
OPTIONAL_COUNT: Conversion = ("a whole number from 0 on, or None", _maybe(_count))
OPTIONAL_NUMBER: Conversion = ("a number from 0 on, or None", _maybe(_number))


def converted(what: str, value: object, conversion: Conversion) -> object:
    """Convert a value for a field; `what` names the field, or argument, in the error."""
    wanted, convert = conversion
    try:
        return convert(value)
    except (InputTypeError, UnicodeDecodeError):
        given = f"{brief(value)} ({type(value).__name__})"
        raise InputTypeError(f"{what} is {given}, wanted {wanted}") from None


class CheckedFields:
    """A base class: fields are converted and checked when they are set."""

    __slots__ = ()
    _fields: ClassVar[Mapping[str, Conversion]] = {}

    def __setattr__(self, name: str, value: object) -> None:
        conversion = self._fields.get(name)
        if conversion is not None:
            try:
                value = conversion[1](value)
            except (InputTypeError, UnicodeDecodeError):
                value = converted(f"{type(self).__name__}.{name}", value, conversion)
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """The fields that are set: all, unless the constructor did not run to its end."""
        names = [each.name for each in fields(self) if each.repr]  # type: ignore[arg-type]
        given = ", ".join(f"{n}={getattr(self, n)!r}" for n in names if hasattr(self, n))
        return f"{type(self).__qualname__}({given})"


def add_entry(entries: dict[str, str], key: str, value: str) -> None:
    """Set a configuration entry; the length of a key is limited."""
    key = str(converted("the key", key, TEXT))
    if not 0 < len(key) <= _LONGEST_KEY:
        raise ConfigurationError(
            f"a key has 1 to {_LONGEST_KEY} letters, {key!r:.30} has {len(key)}"
        )
    entries[key] = str(converted("the value", value, TEXT))


def look_up(options: str, entries: Mapping[str, str], key: str) -> str:
    """Return a configuration entry; raises ConfigurationError if it was not set."""
    expect(key, str, "the key", "a text")
    if key not in entries:
        raise ConfigurationError(f"{options} does not have configuration with key: {key}")
    return entries[key]


def dim_extent(value: object) -> int:
    """The extent given to a dim."""
    wanted = "a whole number of 64 bits"
    try:
        number = index(value)  # type: ignore[arg-type]  # what is no number raises TypeError
    except TypeError:
        given = f"{brief(value)} ({type(value).__name__})"
        raise InputTypeError(f"the dim's extent is {given}, wanted {wanted}") from None
    return number
