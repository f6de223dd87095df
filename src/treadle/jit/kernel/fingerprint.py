"""The fingerprint of a kernel: equal for kernels that have the same machine code.

Every field of every node is included, constants by their elements. Nodes, blocks and extents are
numbered in order of first use, so equal kernels of different sessions and processes agree, and the
objects in a kernel's slots can be stored by number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from treadle.ir import Leaf
from treadle.jit.kernel.ir import Block, Constant, Kernel, Node, SymbolicDim
from treadle.jit.kernel.traversal import all_nodes


class Unwritable(Exception):
    """An object in a kernel cannot be serialized for other processes."""


def fingerprint(kernel: Kernel, exact: Collection[SymbolicDim]) -> str:
    """The digest of a kernel and of the extents known before it runs."""
    walk = _Walk()
    walk.write(kernel)
    met = (walk.numbers.get(id(extent), -1) for extent in exact)
    walk.pieces.append(repr(sorted(met)))
    return hashlib.sha256("".join(walk.pieces).encode()).hexdigest()


class _Walk:
    """One walk over a kernel, described by `pieces`.

    `numbers` are those of nodes, blocks and extents by identity.
    """

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.pieces: list[str] = []

    def write(self, value: Any) -> None:
        """The value as text."""
        kind: Any = type(value)
        _form(kind)(self, value)

    def fields(self, value: Any) -> None:
        """A dataclass."""
        kind: Any = type(value)
        head, names = _parts(kind)
        self.pieces.append(head)
        for name in names:
            self.write(getattr(value, name))
        self.pieces.append(")")

    def once(self, value: Any) -> None:
        """The number of an object, and its content on first use."""
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.numbers)
            self.pieces.append(f"#{number}")
            self.fields(value)
        else:
            self.pieces.append(f"#{number}")

    def items(self, value: Any) -> None:
        """A list of values."""
        self.pieces.append(f"[{len(value)}")
        for item in value:
            self.write(item)

    def pairs(self, value: Any) -> None:
        """A mapping."""
        self.items(tuple(value.items()))

    def plain(self, value: object) -> None:
        """A number, a string, or None."""
        self.pieces.append(f"{type(value).__name__}={value!r};")

    def member(self, value: Enum) -> None:
        """A member of an enumeration, by its name."""
        self.pieces.append(f"{type(value).__name__}.{value.name};")

    def array(self, value: np.ndarray) -> None:
        """The elements of a constant."""
        elements = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        digest = hashlib.sha256(elements.data).hexdigest()
        self.pieces.append(f"array {value.dtype.name} {value.shape} {digest};")

    def operator(self, value: Leaf) -> None:
        """A called operator: its name is enough."""
        self.pieces.append(f"{value.domain} {value.op} {value.version};")


Form = Callable[[_Walk, Any], None]
_FORMS: Sequence[tuple[Any, Form]] = (
    (Node | Block | SymbolicDim, _Walk.once),
    (Enum, _Walk.member),
    (str | int | float | None, _Walk.plain),
    (np.ndarray, _Walk.array),
    (Leaf, _Walk.operator),
    (tuple | list, _Walk.items),
    (dict, _Walk.pairs),
)


@cache
def _form(kind: type) -> Form:
    for kinds, form in _FORMS:
        if issubclass(kind, kinds):
            return form
    if is_dataclass(kind):
        return _Walk.fields
    raise Unwritable(f"a {kind.__name__}")


@cache
def _parts(kind: Any) -> tuple[str, tuple[str, ...]]:
    """The header of a dataclass, and its fields."""
    return f"{kind.__name__}(", tuple(field.name for field in fields(kind))


class Names:
    """The objects in a kernel's slots, by number, in this process and in others."""

    def __init__(self, kernel: Kernel) -> None:
        self._things: list[object] = [*kernel.inputs, *all_nodes(kernel.main)]
        for node in tuple(self._things):
            assert isinstance(node, Node)
            if isinstance(node.op, Constant):
                self._things.append(node.op.array)
            numbers = (*node.shape, getattr(node.op, "extent", None))
            self._things += [extent for extent in numbers if isinstance(extent, SymbolicDim)]
        self._numbers = {id(thing): k for k, thing in enumerate(self._things)}

    def number(self, which: object) -> int:
        """The number of a node, an extent or a constant's array."""
        try:
            return self._numbers[id(which)]
        except KeyError:
            raise Unwritable(f"a {type(which).__name__} that is not part of the kernel") from None

    def thing(self, number: int) -> object:
        """The object with this number."""
        return self._things[number]
