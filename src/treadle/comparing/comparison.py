"""The result of a comparison: differing outputs, the first difference, the growth of errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treadle import markup
from treadle.boundary import public
from treadle.comparing.growth import largest_errors
from treadle.comparing.matching import How, Match, is_called
from treadle.comparing.unequal import Element
from treadle.messages import join_words
from treadle.report import Difference, plural, show_differences
from treadle.tracing import Column, show_value


@dataclass(frozen=True, eq=False, slots=True)
class FirstDifference:
    """The first difference in the order of execution.

    `path` is the step to examine: the earliest whose inputs agree and whose results do not, or the
    loop or branch that behaved differently. `value` is the first value that differs, in the
    iterations `iterations`; `got` and `wanted` are that value on the two sides, None if a side has
    none. `index`, `ulps` and `relative` are those of the first element that differs. `inputs` holds
    the step's operands on both sides.
    """

    path: str
    operator: str
    value: str
    iterations: tuple[int, ...]
    why: str
    got: Any = None
    wanted: Any = None
    element: Element | None = None
    inputs: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def index(self) -> tuple[int, ...] | None:
        """The index of the first element that differs."""
        return None if self.element is None else self.element.index

    @property
    def ulps(self) -> int | None:
        """The distance of the two elements in floats."""
        return None if self.element is None else self.element.ulps

    @property
    def relative(self) -> float | None:
        """The relative error of that element."""
        return None if self.element is None else self.element.relative

    def __str__(self) -> str:
        at = "".join(f"[{number}]" for number in self.iterations)
        lines = [f"{self.path} ({self.operator}){f', iteration {at}' if at else ''}: {self.why}"]
        if self.element is not None:
            where = list(self.element.index) if self.element.index else ""
            errors = [f"{self.ulps:,} ULP"] if self.ulps is not None else []
            errors += [f"relative {self.relative:.3g}"] if self.relative is not None else []
            told = f" ({', '.join(errors)})" if errors else ""
            one, other = self.element.got, self.element.wanted
            lines.append(f"  {self.value}{where} is {one}, wanted {other}{told}")
        elif self.got is not None or self.wanted is not None:
            one, other = _shown(self.got), _shown(self.wanted)
            lines.append(f"  {self.value} is {one}, wanted {other}")
        for name, (one, other) in self.inputs.items():
            lines.append(f"  reads {name}: {_shown(one)}, {_shown(other)}")
        return "\n".join(lines)


def _shown(value: Any) -> str:
    return "missing" if value is None else show_value(value)


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """The result of comparing two sides; true if they agree.

    `outputs` are the differences of the plain runs, `first` the first difference inside, None where
    all that was matched agrees. `matches` are the values that were compared; `unmatched_got` and
    `unmatched_wanted` the names of the others; `notes` what limits the answer. `got` and `wanted`
    are the recorded values; of a loop that ran in windows, those of the window with the first
    difference, and `errors` then has how the error of each value grows.
    """

    outputs: Sequence[Difference]
    first: FirstDifference | None
    matches: Sequence[Match]
    unmatched_got: Sequence[str]
    unmatched_wanted: Sequence[str]
    notes: Sequence[str] = ()
    got: Mapping[str, Column] = field(default_factory=dict)
    wanted: Mapping[str, Column] = field(default_factory=dict)
    errors: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return not self.outputs and self.first is None

    @public
    def growth(self, name: str) -> np.ndarray:
        """The largest absolute error of a value in each iteration of the outermost loop."""
        pair = next((m for m in self.matches if is_called(m.wanted, name)), None)
        if pair is None:
            return np.zeros(0)
        if pair.wanted in self.errors:
            return self.errors[pair.wanted]
        if pair.got not in self.got or pair.wanted not in self.wanted:
            return np.zeros(0)
        return largest_errors(self.got[pair.got], self.wanted[pair.wanted])

    @property
    def matched(self) -> str:
        """`matched 41 of 60 (30 by name, 11 by data)`."""
        ways = {how: sum(m.how == how for m in self.matches) for how in _WAYS}
        told = ", ".join(f"{count} by {_WAYS[how]}" for how, count in ways.items() if count)
        total = len(self.matches) + max(len(self.unmatched_got), len(self.unmatched_wanted))
        return f"matched {len(self.matches)} of {total}{f' ({told})' if told else ''}"

    def __str__(self) -> str:
        lines = [self.matched]
        if self.outputs:
            lines.append(
                f"{plural(len(self.outputs), 'output')} differ:"
                if len(self.outputs) > 1
                else "an output differs:"
            )
            lines += [f"  {line}" for line in show_differences(self.outputs).splitlines()]
        if self.first is not None:
            lines += ["first difference:", *(f"  {line}" for line in str(self.first).splitlines())]
        elif not self.outputs:
            lines.append("no difference")
        for side, names in (("first", self.unmatched_got), ("second", self.unmatched_wanted)):
            if names:
                lines.append(f"only on the {side} side: {join_words(names)}")
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        grown = {m.wanted: self.growth(m.wanted) for m in self.matches}
        rows = [(name, f"{max(each):.3g}") for name, each in grown.items() if each.any()]
        table = markup.table(("value", "largest error"), rows)
        errors = (
            [markup.details(f"{plural(len(rows), 'value')} with errors", table)] if rows else []
        )
        return markup.join([markup.preformatted(str(self)), *errors])

    def __repr__(self) -> str:
        first = "" if self.first is None else f", first at {self.first.path}"
        return f"<Comparison: {'agrees' if self else 'differs'}{first}, {self.matched}>"


_WAYS: Mapping[How, str] = {
    "given": "the given map",
    "name": "name",
    "provenance": "provenance",
    "data": "data",
}
