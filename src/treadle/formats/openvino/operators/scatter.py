"""Elements written by index."""

from __future__ import annotations

from treadle.formats.openvino.faults import Fault
from treadle.formats.openvino.hand import Hand
from treadle.formats.openvino.operators.registry import Made, layer

_REDUCTIONS = {"none": None, "sum": "add", "prod": "mul", "min": "min", "max": "max"}


@layer("ScatterUpdate", 3)
def scatter_update(hand: Hand) -> Made:
    """Slices along an axis replaced by updates."""
    rank, many = hand.rank(0), hand.rank(1)
    axis = hand.axis(3) % rank
    order = [axis, *(k for k in range(rank) if k != axis)]
    data = hand.transpose(hand[0], order)
    total = rank - 1 + many
    front = [*range(axis, axis + many), *range(axis), *range(axis + many, total)]
    updates = hand.transpose(hand[2], front)
    places = hand.leaf("Unsqueeze", hand.int64(1), hand.whole(-1))
    written = hand.leaf("ScatterND", data, places, updates)
    return hand.transpose(written, [order.index(k) for k in range(rank)])


@layer("ScatterNDUpdate", 3, 15)
def scatter_nd_update(hand: Hand) -> Made:
    """Slices by index vectors replaced by, or combined with, updates."""
    word = hand.text("reduction", "none", *_REDUCTIONS, "sub")
    updates = hand[2]
    if word == "sub":
        word, updates = "sum", hand.leaf("Neg", updates)
    flags = {"reduction": _REDUCTIONS[word]}
    return hand.leaf("ScatterND", hand[0], hand.int64(1), updates, **flags)


@layer("ScatterElementsUpdate", 3, 12)
def scatter_elements_update(hand: Hand) -> Made:
    """Elements by their index along an axis replaced by, or combined with, updates."""
    word = hand.text("reduction", "none", *_REDUCTIONS, "mean")
    if word == "mean" or (word != "none" and not hand.truth("use_init_val", True)):
        raise Fault("CF909", f"reduction {word} over updates alone has no ONNX form")
    flags = {"reduction": _REDUCTIONS[word], "axis": hand.axis(3)}
    return hand.leaf("ScatterElements", hand[0], hand[1], hand[2], **flags)
