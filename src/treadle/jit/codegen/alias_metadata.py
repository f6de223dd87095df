"""Alias scopes: which loads and stores cannot touch the same memory.

Memory is identified by a name. All inputs share one ("given"); every buffer and every result has
its own. Without this metadata LLVM would compare addresses before each short loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

from llvmlite import ir as llvm


class AliasScopes:
    """The names of memory so far, and the instructions that access it."""

    def __init__(self, module: llvm.Module) -> None:
        self._module = module
        self._numbers = count()
        self._marked: list[tuple[Any, tuple[str, ...]]] = []
        self._alike: list[tuple[Any, str, str]] = []

    def fresh(self) -> str:
        """A new name, for memory that aliases no other."""
        return f"memory {next(self._numbers)}"

    def mark(self, instruction: Any, *names: str) -> None:
        """Record that the instruction accesses the memory of these names only."""
        self._marked.append((instruction, names))

    def alike(self, block: Any, one: str, other: str) -> None:
        """Record that, in the function of the block, both names may alias."""
        self._alike.append((block, one, other))

    def close(self) -> None:
        """Attach the metadata; called once, at the end.

        A function only distinguishes the names that it uses, numbered in order of use, so that
        functions which are equal except for their memory get equal text.
        """
        domain = self._module.add_metadata(["treadle"])
        functions: dict[Any, list[tuple[Any, list[str]]]] = {}
        known = self._known()
        for instruction, names in self._marked:
            function = id(instruction.function)
            own = [known(function, name) for name in names]
            functions.setdefault(function, []).append((instruction, own))
        scopes: list[Any] = []

        @cache
        def scope_list(numbers: tuple[int, ...]) -> Any:
            return self._list([scopes[number] for number in numbers])

        @cache
        def other_scopes(numbers: tuple[int, ...], count: int) -> Any:
            return self._list([scopes[k] for k in range(count) if k not in numbers])

        for marked in functions.values():
            used = dict.fromkeys(name for _, names in marked for name in names)
            place = {name: k for k, name in enumerate(used)}
            scopes += [
                self._module.add_metadata([f"memory {number}", domain])
                for number in range(len(scopes), len(place))
            ]
            for instruction, own in marked:
                numbers = tuple(dict.fromkeys(place[name] for name in own))
                instruction.set_metadata("alias.scope", scope_list(numbers))
                if len(place) > len(numbers):
                    instruction.set_metadata("noalias", other_scopes(numbers, len(place)))

    def _known(self) -> Callable[[int, str], str]:
        """The name under which a function knows memory: one for all names that alias there."""
        names: dict[tuple[int, str], str] = {}

        def known(function: int, name: str) -> str:
            while (function, name) in names:
                name = names[function, name]
            return name

        for block, one, other in self._alike:
            function = id(block.parent)
            left, right = known(function, one), known(function, other)
            if left != right:
                names[function, right] = left
        return known

    def _list(self, scopes: list[Any]) -> Any:
        """A new node; llvmlite's `add_metadata` would look for an equal one, scope by scope."""
        return llvm.MDValue(self._module, scopes, name=str(len(self._module.metadata)))
