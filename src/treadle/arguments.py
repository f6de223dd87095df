"""Checks of arguments of public functions.

A value of a wrong type raises InputTypeError, which is a TypeError; an invalid value raises
InputError, which is a ValueError. Both messages tell what was given and what is wanted.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, fields
from functools import wraps
from typing import Any, TypeVar

from treadle.errors import InputError, InputTypeError, did_you_mean, or_nearest
from treadle.messages import a_or_an

__all__ = [
    "brief",
    "expect",
    "expect_callable",
    "expect_listener",
    "expect_member",
    "expect_model",
    "expect_opset",
    "expect_path",
    "items_of",
    "mapping_of",
    "names_of",
    "naming_fields",
    "path_text",
    "shown",
]


_Kind = TypeVar("_Kind", bound=type)


def naming_fields(kind: _Kind) -> _Kind:
    """Decorate a dataclass of named fields: its constructor raises InputTypeError for others.

    The dataclass has slots and checks what is set; defaults are set without checks.
    """
    names = [each.name for each in fields(kind)]
    construct = vars(kind)["__init__"]
    sets = [(getattr(kind, each.name).__set__, each) for each in fields(kind)]
    plain = [(put, each.default) for put, each in sets if each.default is not MISSING]
    made = [
        (put, factory) for put, each in sets if (factory := each.default_factory) is not MISSING
    ]

    @wraps(construct)
    def __init__(self: object, *unnamed: object, **given: object) -> None:  # noqa: N807
        if unnamed:
            raise InputTypeError(f"{kind.__name__} takes its fields by name: {', '.join(names)}")
        for name in given.keys() - names:
            hint = did_you_mean(name, names)
            raise InputTypeError(f'{kind.__name__} has no field "{name}", {hint}')
        if given:
            construct(self, **given)
            return
        for put, value in plain:
            put(self, value)
        for put, make in made:
            put(self, make())

    type.__setattr__(kind, "__init__", __init__)
    return kind


def brief(value: object) -> str:
    """The start of an argument's `repr`, or its type where it has none."""
    try:
        return f"{value!r:.60}"
    except Exception:  # noqa: BLE001  border: the caller's object, or one nested too deep
        return shown(value)


def shown(value: object) -> str:
    """Describe an argument briefly: `None`, `an int`, `the class Recorder`."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return "None" if value is None else a_or_an(type(value).__name__)


def expect(value: object, kinds: type | tuple[type, ...], what: str, wanted: str) -> None:
    """Raise InputTypeError unless the value is of one of the kinds; a bool is no int."""
    is_stray_bool = isinstance(value, bool) and bool not in _all(kinds)
    if is_stray_bool or not isinstance(value, kinds):
        raise InputTypeError(f"{what} is {shown(value)}, wanted {wanted}")


def _all(kinds: type | tuple[type, ...]) -> tuple[type, ...]:
    return kinds if isinstance(kinds, tuple) else (kinds,)


def expect_callable(value: object, what: str, wanted: str) -> None:
    """Raise InputTypeError unless the value can be called."""
    if not callable(value):
        raise InputTypeError(f"{what} is {shown(value)}, wanted {wanted}")


def expect_model(source: object) -> None:
    """Raise InputTypeError for a value of Python that cannot be the source of a model."""
    if source is None or isinstance(source, int | float | list | tuple | dict | set):
        raise InputTypeError(
            f"{shown(source)} is not a model; give a path, bytes, text, a ModelProto, an "
            "onnx_ir.Model or an onnxscript function"
        )


def path_text(path: str | os.PathLike[Any], what: str = "path") -> str:
    """The path as a string; raises InputTypeError where its `__fspath__` gives no text."""
    try:
        return os.fsdecode(path)
    except TypeError as error:
        raise InputTypeError(f"{what} is {shown(path)}, which is no path: {error}") from None


def expect_listener(listener: Any, what: str = "listener") -> None:
    """Raise InputTypeError unless the value is a callable, and not a class of listeners."""
    if listener is None:
        return
    if isinstance(listener, type):
        hint = f"an object of it: {listener.__name__}()"
        raise InputTypeError(f"{what} is {shown(listener)}, wanted {hint}")
    expect_callable(listener, what, "a function that takes an event")


def expect_path(path: Any, what: str = "path") -> str:
    """The path as a string; raises InputTypeError for anything but a path."""
    expect(path, (str, os.PathLike), what, "the path of a file: str or os.PathLike")
    text = path_text(path, what)
    if "\0" in text:
        raise InputError(f"{what} {text!r:.60} has a NUL, which no file's path has")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise InputError(f"{what} {text!r:.60} cannot be encoded as a file's path") from None
    return text


def expect_member(value: Any, known: Collection[str], what: str) -> None:
    """Raise InputTypeError unless the value is a str, InputError unless it is a known one."""
    expect(value, str, what, f"one of {', '.join(known)}")
    if value not in known:
        hint = or_nearest(value, known)
        raise InputError(f'{what} is "{value}", known: {", ".join(known)}{hint}')


def expect_opset(opset: Any, newest: int, domain: str) -> None:
    """Raise InputError unless the number is an opset of the domain; 0: the domain has no opsets."""
    if opset is None:
        return
    expect(opset, int, "opset", "a whole number")
    if opset < 1:
        raise InputError(f"opset is {opset}, opsets begin with 1")
    if newest and opset > newest:
        shown_domain = domain or "ai.onnx"
        raise InputError(f"opset is {opset}, the newest known of {shown_domain} is {newest}")


def items_of(values: Any, what: str, wanted: str) -> list[Any]:
    """The items of an iterable, whose own exceptions count as a wrong type."""
    expect(values, Iterable, what, wanted)
    if getattr(values, "ndim", 1) != 1:
        raise InputTypeError(f"{what} is {shown(values)} of {values.ndim} axes, wanted {wanted}")
    try:
        return list(values)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  border: the caller's object iterates as it likes
        raise InputTypeError(f"{what} is {shown(values)}, wanted {wanted}: {error}") from None


def mapping_of(values: Any, what: str, wanted: str) -> dict[Any, Any]:
    """The items of a mapping."""
    expect(values, Mapping, what, wanted)
    return dict(values)


def names_of(names: Any, known: Collection[str], what: str) -> tuple[str, ...]:
    """The names in a list, or a string, which is one name; each one must be known."""
    if isinstance(names, str):
        names = (names,)
    given = tuple(items_of(names, what, f"a list of names: {', '.join(known)}"))
    for name in given:
        expect_member(name, known, f"a name in {what}")
    return given
