"""Keeps fields of messages that the IR cannot express, and writes them back verbatim."""

from __future__ import annotations

from typing import Any, TypeVar

from treadle.ir import Metadata

Message = TypeVar("Message", bound=Any)


def known_fields(message: Any, *unknown: str) -> frozenset[str]:
    """All fields of a message type except the `unknown` ones, which the IR does not hold."""
    return frozenset(field.name for field in message.DESCRIPTOR.fields) - set(unknown)


def leftover(message: Message, known: frozenset[str]) -> Message:
    """A message of the same type with only the unknown fields."""
    rest: Message = type(message)()
    for descriptor, value in message.ListFields():
        if descriptor.name in known:
            continue
        if isinstance(value, int | float | str | bytes):
            setattr(rest, descriptor.name, value)
        elif hasattr(value, "extend"):
            getattr(rest, descriptor.name).extend(value)
        else:
            getattr(rest, descriptor.name).CopyFrom(value)
    return rest


def metadata_of(message: Any) -> Metadata:
    """The message's metadata_props."""
    return tuple((entry.key, entry.value) for entry in message.metadata_props)


def write_metadata(metadata: Metadata, message: Any) -> None:
    """Add metadata_props to a message."""
    for key, value in metadata:
        message.metadata_props.add(key=key, value=value)
