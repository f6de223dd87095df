"""Locates a difference that disappears when every value is exposed, by exposing fewer values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from treadle import recording
from treadle.comparing.matching import Match
from treadle.comparing.order import order_of
from treadle.comparing.sides import Side
from treadle.comparing.unequal import Bounds, first_unequal, same
from treadle.tracing import Selector

Feeds = Mapping[str, Any]
_Seen = Literal["agrees", "differs", "gone"]


def narrowed(
    got: Side, wanted: Side, feeds: Feeds, matches: Sequence[Match], bounds: Bounds
) -> str:
    """Describe between which values the difference arises; exposes one value at a time.

    Of n values, at most log2(n) + 1 are exposed, each in a run of its own of both sides.
    """
    names = _in_order(wanted, matches)
    agreeing, differing = -1, len(names)
    while differing - agreeing > 1:
        middle = (agreeing + differing) // 2
        seen = _look(got, wanted, feeds, names[middle], bounds)
        if seen == "gone":
            return (
                f"the outputs agree once {names[middle]} alone is exposed: the difference depends"
                " on its fusion with the steps that read it"
            )
        if seen == "differs":
            differing = middle
        else:
            agreeing = middle
    before = names[agreeing] if agreeing >= 0 else "the inputs"
    behind = names[differing] if differing < len(names) else "the outputs"
    return (
        "the difference depends on fusion: with one value exposed at a time, it arises between"
        f" {before} and {behind}"
    )


def _in_order(wanted: Side, matches: Sequence[Match]) -> list[str]:
    """The values that both sides have under one name, in the order of execution."""
    places = {} if wanted.model is None else order_of(wanted.model)
    shared = [pair.wanted for pair in matches if pair.got == pair.wanted]
    return sorted((name for name in shared if name in places), key=lambda n: places[n].template)


def _look(got: Side, wanted: Side, feeds: Feeds, name: str, bounds: Bounds) -> _Seen:
    """Run both sides with one value exposed, and compare outputs and value."""
    outputs, columns = zip(*(_run(side, feeds, name) for side in (got, wanted)), strict=True)
    one, other = (found.get(name) for found in columns)
    pairs = zip(outputs[0], outputs[1], strict=False)
    if all(same(a, b, bounds) for a, b in pairs):
        return "gone"
    if one is None or other is None:
        return "agrees" if one is other else "differs"
    return "agrees" if first_unequal(one, other, bounds) is None else "differs"


def _run(side: Side, feeds: Feeds, name: str) -> tuple[list[Any], dict[str, Any]]:
    assert side.model is not None, "a recording has no outputs that could differ"
    assert side.prepare is not None, "a side with a model runs"
    exposure = side.expose(side.model, Selector((name,)))
    made = side.prepare(exposure.model)(feeds)
    outputs = [made[v.name] for v in side.model.main.results if v is not None]
    found = recording.columns(exposure, made)
    return outputs, {f"{each.path}/{each.name}": each for each in found}
