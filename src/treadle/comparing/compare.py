"""The public function `compare`: the first place where two sides differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from treadle import recording
from treadle.arguments import mapping_of
from treadle.boundary import public
from treadle.comparing.comparison import Comparison
from treadle.comparing.narrow import narrowed
from treadle.comparing.parts import parts_of
from treadle.comparing.sides import Side, side_of
from treadle.comparing.survey import Survey
from treadle.comparing.unequal import Bounds
from treadle.errors import InputError
from treadle.messages import join_words
from treadle.report import Difference
from treadle.report import compare as compare_outputs
from treadle.tracing import Selector

Feeds = Mapping[str, Any]


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
    """Find where two sides first differ in the order of execution; the second is the reference.

        found = treadle.compare("exported.onnx", ("exported.onnx", "onnxruntime"), feeds)
        print(found.first)

    A side is a model, a session, `(model, runtime)` with one of "treadle", "jit", "interp",
    "onnxruntime", "openvino" and "reference", a Recorder, or an .npz file (or dict) of recorded
    activations, iterations first. Values are matched by `names` (of a to those of b), then by path
    and name, then by the metadata that `treadle.unroll` writes, then by data, if exactly one value
    agrees in every iteration. `values` selects the values to compare.

    Whole numbers, booleans and text are compared exactly, floats by a tolerance for their dtype
    unless `rtol` and `atol` are given. The plain runs are compared first. `first.path` is the
    earliest step whose inputs agree and whose results do not; for a loop that runs more often, or a
    branch that takes another side, it is that step itself.

    Raises InputError for an unknown side or name, and for a recording that has nothing in common
    with the other side; RunError if a side fails.
    """
    got, wanted = side_of(a, "the first side"), side_of(b, "the second side")
    given = {} if feeds is None else mapping_of(feeds, "feeds", "a dict of arrays by input")
    selector = Selector.of(values)
    outputs, parts = parts_of(got, wanted, given, selector)
    survey = Survey(got.model, wanted.model, names or {}, Bounds(rtol, atol))
    for part in parts:
        survey.add(part)
    survey.finish()
    if not survey.matches and not (outputs[0] and outputs[1]):
        raise InputError(
            f"{got.label} and {wanted.label} have no value in common, by name or by data:"
            f" the first has {_named(survey, 0)}, the second {_named(survey, 1)}; give names"
        )
    differences = _outputs(*outputs, rtol, atol)
    return Comparison(
        differences,
        survey.first,
        survey.matches,
        *survey.unmatched,
        _notes(got, wanted, given, survey, differences),
        survey.got,
        survey.wanted,
        survey.growth,
    )


def _named(survey: Survey, side: int) -> str:
    return join_words(survey.unmatched[side], 3) or "no value"


def _outputs(got: Feeds, wanted: Feeds, rtol: float | None, atol: float | None) -> list[Difference]:
    """The differences between outputs of plain runs.

    Outputs without a match in name by position.
    """
    if not got or not wanted:
        return []
    if not set(wanted) & set(got) and len(wanted) == len(got):
        got = dict(zip(wanted, got.values(), strict=True))
    common = {name: value for name, value in wanted.items() if name in got}
    return compare_outputs(got, common, rtol, atol)


def _notes(
    got: Side,
    wanted: Side,
    feeds: Feeds,
    survey: Survey,
    outputs: Sequence[Difference],
) -> list[str]:
    notes = [
        f"{side.label}: {len(side.refused)} values are not exposed; the first: {side.refused[0]}"
        for side in (got, wanted)
        if side.refused
    ]
    if outputs and survey.first is None and survey.matches:
        notes.append(
            "the outputs differ, and no value inside does once all are exposed: "
            + narrowed(got, wanted, feeds, survey.matches, survey.bounds)
        )
    return [*notes, *_held_at_once(survey)]


def _held_at_once(survey: Survey) -> Iterator[str]:
    """A note for each loop inside another one that ran long, and not in windows."""
    for name, column in {**survey.got, **survey.wanted}.items():
        path, _, extra = name.rpartition("@")
        trips = column.rows() if extra == "trips" and path.count("/") > 1 else None
        most = 0 if trips is None else trips.max(initial=0)
        if most > recording.LONG and path not in survey.loops:
            yield (
                f"{path} ran {most} times, and its values were held at once: inputs and"
                " constants do not give its length, and the loop around it runs often"
            )
