"""Which axis of each value is the batch: rows that a model treats one by one, whatever the others.

`batch_axes` proves for a model and one axis of each input that row i of every output is made of row
i of the inputs alone, so that rows may be run together; or it says which step mixes them. The rules
are those of a vmap read backwards: for each operator, where the axis goes.
"""

from treadle.batching.analysis import batch_axes
from treadle.batching.states import Mixed

__all__ = ["Mixed", "batch_axes"]
