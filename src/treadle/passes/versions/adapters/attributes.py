"""Adapters for attributes that were added with a default equivalent to the old behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treadle.ir import Leaf
from treadle.passes.versions.adapters.sampling import sampled
from treadle.passes.versions.adapters.steps import first, having, without
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import DOWN, Adapted, NoForm, down, up

_NEW: Mapping[tuple[str, int], Mapping[str, Any]] = {
    ("Attention", 25): {"left_window_size": -1, "right_window_size": -1},
    ("Cast", 19): {"saturate": None},
    ("Cast", 24): {"round_mode": None},
    ("CastLike", 19): {"saturate": None},
    ("CastLike", 24): {"round_mode": None},
    ("Range", 27): {"stash_type": 1},
}
"""The value of an attribute, or of each list entry, for which the previous version is equivalent.

None: the attribute only affects element types that the previous version lacks.
"""


def only_default(at: Rewriter, step: Leaf) -> Adapted:
    """Remove the new attributes from the step; raises NoForm if one has another value."""
    given = at.attributes(step)
    for name, wanted in _NEW[step.op, step.version].items():
        value = given.get(name)
        entries = value if isinstance(value, list) else [value]
        if value is not None and wanted is not None and any(each != wanted for each in entries):
            raise NoForm(f"opset {at.opset} has no {name}, which is {value}")
    return without(step, *_NEW[step.op, step.version])


DOWN.update(dict.fromkeys(_NEW, only_default))


@up("RoiAlign", 16)
def half_pixel(at: Rewriter, step: Leaf) -> Adapted:
    """GridSample: the default of the mode changed in 16."""
    return having(step, coordinate_transformation_mode="output_half_pixel")


_MODES = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}


@down("GridSample", 20)
def old_modes(at: Rewriter, step: Leaf) -> Adapted:
    """GridSample-20 renamed the modes and added volumes."""
    if at.rank(first(step)) != 4:
        return sampled(at, step)
    return having(step, mode=_MODES[at.attributes(step)["mode"]])


@up("GridSample", 20)
def new_modes(at: Rewriter, step: Leaf) -> Adapted:
    """GridSample-20 renamed the modes."""
    names = {old: new for new, old in _MODES.items()}
    return having(step, mode=names[at.attributes(step)["mode"]])


@down("ArgMax ArgMin", 12)
def last_of_equals(at: Rewriter, step: Leaf) -> Adapted:
    """The last of equal extremes is the first one of the reversed operand."""
    given = at.attributes(step)
    if not given["select_last_index"]:
        return without(step, "select_last_index")
    x, axis = first(step), given["axis"]
    back = at.slice(x, -1, -(2**62), axis, -1)
    found = at.op(step.op, back, axis=axis, keepdims=given["keepdims"])
    last = at.op("Sub", at.extent(x, axis), at.ints(1))
    if not given["keepdims"] and at.rank(x) == 1:
        last = at.squeeze(last, 0)
    return at.op("Sub", last, found)
