"""Names of a room that are imported on first use, for rooms of which a session needs few.

In the room's `__init__.py`, where type checkers read the same imports under TYPE_CHECKING:

    __getattr__ = lazy_names(__name__, {"compare": ("Difference", "compare"), "surgery": ()})

A file without names is one itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """A room: importing its file `compare` must not replace its function `compare`."""

    def __setattr__(self, name: str, value: object) -> None:
        is_file = isinstance(value, ModuleType) and name in vars(self)["_file_of"]
        if not is_file:
            super().__setattr__(name, value)


def lazy_names(room: str, names_of: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a room; `names_of` has the names of each of its files."""
    file_of = {name: file for file, names in names_of.items() for name in names}
    module = sys.modules[room]
    vars(module)["_file_of"] = file_of
    module.__class__ = _Room

    def imported(name: str) -> Any:
        if name in names_of and name not in file_of:
            return import_module(f"{room}.{name}")
        if name not in file_of:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        found = getattr(import_module(f"{room}.{file_of[name]}"), name)
        vars(module)[name] = found
        return found

    return imported
