"""Selectors: patterns that pick values, loops and branches of a model.

    h                      values of this name, in every block
    main/loop_3.body/h     the value of this name in the block at this path
    main/loop_3            the loop or branch at this path, and its results
    main/loop_3@trips      a count or flag that exposing adds for a loop or branch
    op:Softmax             the results of every Softmax
    role:carried           carried | sliced | stacked | condition, as the loop around uses it

Names, paths and the paths of steps are globs (`*`, `?`, `[ab]`); several patterns pick the union.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from treadle.arguments import expect, items_of
from treadle.errors import InputError, nearest
from treadle.ir import Model
from treadle.messages import join_words
from treadle.tracing.selectable import Kind, Selectable, selectables

ROLES = ("carried", "sliced", "stacked", "condition")
_WILD = "*?["


@dataclass(frozen=True, slots=True)
class Selector:
    """Patterns, any of which may match. `str(selector)` is the text given by the user."""

    patterns: tuple[str, ...]

    @classmethod
    def of(cls, values: str | Iterable[str], what: str = "values") -> Selector:
        """The selector of one pattern or several; raises InputError for a malformed pattern."""
        if isinstance(values, str):
            values = (values,)
        patterns = tuple(items_of(values, what, "a selector, or a list of them"))
        for pattern in patterns:
            expect(pattern, str, f"a selector in {what}", "one str")
            _expect_known_role(pattern, what)
        if not patterns:
            raise InputError(f'{what} is empty, wanted a selector, as "*" or "main/loop_0.body/h"')
        return cls(patterns)

    def __str__(self) -> str:
        return ", ".join(self.patterns)

    def picks(self, item: Selectable) -> bool:
        """Whether a pattern matches the item."""
        return any(_matches(pattern, item) for pattern in self.patterns)

    def names(self, item: Selectable) -> bool:
        """Whether a pattern without wildcards is the item's own name or path."""
        return any(
            not any(c in pattern for c in _WILD) and _matches(pattern, item)
            for pattern in self.patterns
        )

    def picks_extra(self, path: str, extra: str) -> bool:
        """Whether the user asks for `PATH@EXTRA`: by a pattern with @, or the loop's own path."""
        full = f"{path}@{extra}"
        return any(
            pattern in (path, full) or ("@" in pattern and fnmatchcase(full, pattern))
            for pattern in self.patterns
        )

    def expect_match(self, model: Model, what: str = "values") -> None:
        """Raise InputError if a pattern matches nothing in the model, with similar names."""
        items = list(selectables(model))
        for pattern in self.patterns:
            alone = Selector((pattern,))
            if not any(alone.picks(item) or alone._picks_any_extra(item) for item in items):
                raise InputError(f'{what}: nothing matches "{pattern}"{_near(pattern, items)}')

    def _picks_any_extra(self, item: Selectable) -> bool:
        return any(self.picks_extra(item.path, extra) for extra in EXTRAS.get(item.kind, ()))


EXTRAS = {Kind.LOOP: ("trips", "ended"), Kind.BRANCH: ("taken",)}
"""The extras that loops and branches offer besides values."""


def _matches(pattern: str, item: Selectable) -> bool:
    kind, colon, rest = pattern.partition(":")
    if colon and kind == "role":
        return rest in item.roles
    if colon and kind == "op":
        return bool(item.name) and rest.lower() == item.operator.lower()
    named = (item.name, item.full_name, item.step) if item.name else (item.path,)
    return any(name == pattern or fnmatchcase(name, pattern) for name in named)


def _expect_known_role(pattern: str, what: str) -> None:
    kind, colon, role = pattern.partition(":")
    if colon and kind == "role" and role not in ROLES:
        raise InputError(f'{what}: there is no role "{role}"; the roles are {join_words(ROLES)}')


def _near(pattern: str, items: Collection[Selectable]) -> str:
    kind, colon, rest = pattern.partition(":")
    if colon and kind == "op":
        known = sorted({item.operator for item in items if item.operator})
        close = nearest(rest, known)
        return f'; did you mean "op:{close}"?' if close else f"; it has {join_words(known)}"
    if colon and kind == "role":
        return f"; no loop of the model has a value that is {rest}"
    spelt = {name: None for item in items for name in (item.name, item.full_name) if name}
    close = nearest(pattern.strip("*"), spelt)
    if close:
        return f'; did you mean "{close}"?'
    return f"; it has {join_words([item.name for item in items if item.name]) or 'no values'}"
