"""Weak references from inner to outer: a kernel without users is freed without the cycle collector.

A block holds its nodes, and the nodes of loops and branches hold the blocks inside them. What
leads back, from a node to its block and from a block to the one around it, is such a reference.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class Enclosing(Generic[T]):
    """An attribute that refers to an object, or to None, without keeping it alive.

    The default, if one is given, is that of the field of a dataclass.
    """

    def __init__(self, *default: T) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.slot = f"_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            if not self.default:
                raise AttributeError(self.slot)
            return self.default[0]
        return getattr(instance, self.slot)()

    def __set__(self, instance: object, value: T) -> None:
        refer: Callable[[], Any] = _nothing if value is None else weakref.ref(value)
        object.__setattr__(instance, self.slot, refer)


def _nothing() -> None:
    return None
