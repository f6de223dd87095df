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
        self._marked: list[tuple[Any, str]] = []
        self._alike: list[tuple[Any, str, str]] = []

    def fresh(self) -> str:
        """A new name, for memory that aliases no other."""
        return f"memory {next(self._numbers)}"

    def mark(self, instruction: Any, name: str) -> None:
        """Record that the instruction accesses the memory of this name only."""
        self._marked.append((instruction, name))

    def alike(self, block: Any, one: str, other: str) -> None:
        """Record that, in the function of the block, both names may alias."""
        self._alike.append((block, one, other))

    def close(self) -> None:
        """Attach the metadata; called once, at the end.

        A function only distinguishes the names that it uses, numbered in order of use, so that
        functions which are equal except for their memory get equal text.
        """
        domain = self._module.add_metadata(["treadle"])
        functions: dict[Any, list[tuple[Any, str]]] = {}
        known = self._known()
        for instruction, name in self._marked:
            function = id(instruction.function)
            functions.setdefault(function, []).append((instruction, known(function, name)))
        scopes: list[Any] = []

        @cache
        def scope_list(number: int) -> Any:
            return self._list([scopes[number]])

        @cache
        def other_scopes(number: int, count: int) -> Any:
            return self._list([*scopes[:number], *scopes[number + 1 : count]])

        for marked in functions.values():
            place = {name: k for k, name in enumerate(dict.fromkeys(name for _, name in marked))}
            scopes += [
                self._module.add_metadata([f"memory {number}", domain])
                for number in range(len(scopes), len(place))
            ]
            for instruction, name in marked:
                instruction.set_metadata("alias.scope", scope_list(place[name]))
                if len(place) > 1:
                    instruction.set_metadata("noalias", other_scopes(place[name], len(place)))

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
