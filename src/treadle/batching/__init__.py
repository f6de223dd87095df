"""Finds the batch axis of each value: rows that a model computes independently.

`batch_axes` proves, for a model and one axis of each input, that row i of every output depends on
row i of the inputs only, so rows may be run together; or it names the step that mixes rows. The
rules are those of vmap in reverse: where each operator moves the axis.
"""

from treadle.batching.analysis import batch_axes
from treadle.batching.states import Mixed

__all__ = ["Mixed", "batch_axes"]
