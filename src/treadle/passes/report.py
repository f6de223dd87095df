"""The report of passes and rewrites: single changes, and all of them as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Change:
    """One change by a pass: the pass's name, the path of the step or body, and a description."""

    name: str
    path: str
    done: str

    def __str__(self) -> str:
        return f"{self.path}: {self.done}"


@dataclass(frozen=True, slots=True)
class Report:
    """All changes of a model, in order."""

    done: tuple[Change, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The number of changes by each pass."""
        return dict(Counter(each.name for each in self.done))

    def __add__(self, other: Report) -> Report:
        return Report((*self.done, *other.done))

    def __str__(self) -> str:
        lines = []
        for name, times in self.counts.items():
            lines.append(f"{name}: {times}")
            lines += _by_place([each for each in self.done if each.name == name])
        return "\n".join(lines)


def _by_place(done: Sequence[Change]) -> list[str]:
    places: dict[str, list[Change]] = {}
    for each in done:
        block = each.path.rpartition("/")[0] or each.path
        places.setdefault(block, []).append(each)
    lines = []
    for block, found in places.items():
        words = Counter(each.done for each in found)
        shown = [f"{word} {n} times" if n > 1 else word for word, n in words.most_common(_SHOWN)]
        more = f" and {len(words) - _SHOWN} kinds more" if len(words) > _SHOWN else ""
        lines.append(f"  {block}: {', '.join(shown)}{more}")
    return lines
