"""`treadle.reroll`: turns unrolled steps into loops."""

from __future__ import annotations

from typing import Literal, overload

from treadle import passes
from treadle.arguments import expect
from treadle.boundary import public
from treadle.ir import Model
from treadle.limits import LoadLimits, making
from treadle.passes import Report
from treadle.rewriting.border import Rewritten, given
from treadle.sources import valid


@overload
def reroll(
    source: object,
    *,
    layers: bool = False,
    with_report: Literal[False] = False,
    limits: LoadLimits | None = None,
) -> Model: ...
@overload
def reroll(
    source: object,
    *,
    layers: bool = False,
    with_report: Literal[True],
    limits: LoadLimits | None = None,
) -> tuple[Model, Report]: ...
@public
def reroll(
    source: object,
    *,
    layers: bool = False,
    with_report: bool = False,
    limits: LoadLimits | None = None,
) -> Rewritten:
    """Replace equal segments by loops: an unrolled export becomes small again.

        treadle.reroll(treadle.unroll("decoder.onnx"))

    Segments that share weights become a Scan, or a Loop if a value changes its shape. Matching
    determines which values are carried, captured, sliced and stacked. With `layers=True` equal
    layers with different weights also become a loop over the stacked weights, which may run slower.
    Other steps are unchanged; returns the same model if nothing repeats.
    """
    expect(layers, bool, "layers", "True or False")
    with making(limits):
        result = passes.reroll(valid(source, "rolled up"), layers=layers)
    return given(result, with_report)
