"""The public function `compare`: the first place where two sides differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from treadle.boundary import public
from treadle.comparing.comparison import Comparison, FirstDifference
from treadle.comparing.matching import Match, by_provenance, match
from treadle.comparing.order import Key, OutputPosition, order_of
from treadle.comparing.sides import Side, side_of
from treadle.comparing.unequal import Bounds, Unequal, element, first_unequal
from treadle.report import Difference
from treadle.report import compare as compare_outputs
from treadle.tracing import Column, Selector

Feeds = Mapping[str, Any]
Columns = Mapping[str, Column]


@public
def compare(
    a: object,
    b: object,
    feeds: Mapping[str, object] | None = None,
    *,
    values: str | Iterable[str] = "*",
    names: Mapping[str, str] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Comparison:
    """Where two sides first differ, in the order of execution; the second one is what is wanted.

        found = treadle.compare("exported.onnx", ("exported.onnx", "onnxruntime"), feeds)
        print(found.first)

    A side is a model, a session, `(model, runtime)` with one of "treadle", "jit", "interp",
    "onnxruntime", "openvino" and "reference", a Recorder, or an .npz file (or dict) of recorded
    activations, iterations first. Values are matched by `names` (of a to those of b), then by path
    and name, then by the metadata that `treadle.unroll` writes, then by data, where exactly one
    value agrees in every iteration. `values` selects what is looked at.

    Whole numbers, booleans and text are compared exactly, floats by a tolerance for their dtype
    unless `rtol` and `atol` are given. The plain runs are compared first. `first.path` is the
    earliest step whose inputs agree and whose results do not; a loop that runs more often, or a
    branch that takes another side, is that step itself.

    Raises InputError for a side or a name that there is not, RunError where a side fails.
    """
    got, wanted = side_of(a, "the first side"), side_of(b, "the second side")
    given = {} if feeds is None else dict(feeds)
    bounds, selector = Bounds(rtol, atol), Selector.of(values)
    outputs = _outputs(got.outputs(given), wanted.outputs(given), rtol, atol)
    one, other = got.columns(given, selector), wanted.columns(given, selector)
    placed: set[str] = set()
    if got.model is not None and wanted.model is not None:
        before, one = set(one), by_provenance(one, got.model, wanted.model)
        placed = set(one) - before
    matches = match(one, other, names or {}, bounds, placed)
    first = _first(got, wanted, one, other, matches, bounds)
    paired, partnered = {m.got for m in matches}, {m.wanted for m in matches}
    return Comparison(
        outputs,
        first,
        matches,
        [name for name in one if name not in paired],
        [name for name in other if name not in partnered],
        _notes(got, wanted, outputs, first, matches),
        one,
        other,
    )


def _outputs(got: Feeds, wanted: Feeds, rtol: float | None, atol: float | None) -> list[Difference]:
    """How the outputs of plain runs differ; those of other names are taken by their position."""
    if not got or not wanted:
        return []
    if not set(wanted) & set(got) and len(wanted) == len(got):
        got = dict(zip(wanted, got.values(), strict=True))
    common = {name: value for name, value in wanted.items() if name in got}
    return compare_outputs(got, common, rtol, atol)


def _first(
    got: Side,
    wanted: Side,
    one: Columns,
    other: Columns,
    matches: Iterable[Match],
    bounds: Bounds,
) -> FirstDifference | None:
    mine = {} if got.model is None else order_of(got.model)
    theirs = {} if wanted.model is None else order_of(wanted.model)
    earliest: tuple[Key, Match, Unequal, OutputPosition | None] | None = None
    for position, pair in enumerate(matches):
        found = first_unequal(one[pair.got], other[pair.wanted], bounds)
        if found is None:
            continue
        place = theirs.get(pair.wanted) or mine.get(pair.got)
        key = place.key(found.iterations) if place else (*found.iterations, position)
        if earliest is None or key < earliest[0]:
            earliest = key, pair, found, place
    if earliest is None:
        return None
    _, pair, found, place = earliest
    return _told(pair, found, mine.get(pair.got) or place, one, other, matches, bounds)


def _told(
    pair: Match,
    found: Unequal,
    place: OutputPosition | None,
    one: Columns,
    other: Columns,
    matches: Iterable[Match],
    bounds: Bounds,
) -> FirstDifference:
    path, operator, why = pair.wanted, "", "the values differ"
    inputs: dict[str, tuple[Any, Any]] = {}
    if place is not None:
        path, operator = place.step or pair.wanted, place.operator
        why = _why(pair, found, place)
        by_name = {m.got: m for m in matches}
        for name in place.operands:
            inputs |= _input(name, place, found, by_name, one, other)
    if found.only and place is not None and place.owner:
        path, operator = place.owner, _operator(place.owner)
    return FirstDifference(
        path, operator or _operator(path), pair.wanted, found.iterations, why,
        found.got, found.wanted, element(found.got, found.wanted, bounds), inputs,
    )  # fmt: skip


def _operator(path: str) -> str:
    """The operator that a path names: `loop_3` is a Loop."""
    return path.rpartition("/")[2].rpartition("_")[0].capitalize()


def _why(pair: Match, found: Unequal, place: OutputPosition) -> str:
    if found.only:
        side = "the first side" if found.only == "got" else "the second side"
        return f"only {side} comes to {pair.wanted} in this iteration"
    if pair.wanted.endswith("@trips"):
        return f"it makes {found.got} iterations, wanted {found.wanted}"
    if pair.wanted.endswith("@taken"):
        return "it takes its other branch"
    if not place.operator:
        return "it hands on another value than it was given"
    return "its inputs agree, its result does not"


def _input(
    name: str,
    place: OutputPosition,
    found: Unequal,
    by_name: Mapping[str, Match],
    one: Columns,
    other: Columns,
) -> dict[str, tuple[Any, Any]]:
    """What the step read by this name, on both sides: from its block, or the nearest around it."""
    path, iterations = place.path, found.iterations
    while path:
        pair = by_name.get(f"{path}/{name}")
        if pair is not None:
            values = [_at(columns, iterations) for columns in (one[pair.got], other[pair.wanted])]
            return {name: (values[0], values[1])}
        path = path.rpartition("/")[0]
    return {}


def _at(column: Column, iterations: tuple[int, ...]) -> Any:
    """What the value was last, as of these iterations."""
    depth = column.at.shape[1]
    rows = (column.at == list(iterations[:depth])).all(axis=1).nonzero()[0]
    return column.made[rows[-1]] if len(rows) else None


def _notes(
    got: Side,
    wanted: Side,
    outputs: Sequence[Difference],
    first: FirstDifference | None,
    matches: Sequence[Match],
) -> list[str]:
    notes = [
        f"{side.label}: {len(side.refused)} values are not exposed; the first: {side.refused[0]}"
        for side in (got, wanted)
        if side.refused
    ]
    if outputs and first is None and matches:
        notes.append(
            "the outputs differ, and no value inside does once it is looked at: the difference"
            " depends on fusion, or comes from values that were not matched"
        )
    return notes
