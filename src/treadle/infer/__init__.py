"""Forward inference of types and shapes: derives the facts of every value of every body."""

from treadle.infer.context import Conflict
from treadle.infer.dim_arithmetic import differ, grows_apart
from treadle.infer.facts import Fact, array_of
from treadle.infer.incremental import IncrementalInference
from treadle.infer.model import (
    block_facts,
    certain_facts,
    infer,
    infer_with_conflicts,
    is_same_in_a_run,
)
from treadle.infer.pools import is_short_pool
from treadle.infer.ranges import COUNTS, Range, range_of_array, range_of_result, range_of_type

__all__ = [
    "COUNTS",
    "Conflict",
    "Fact",
    "IncrementalInference",
    "Range",
    "array_of",
    "block_facts",
    "certain_facts",
    "differ",
    "grows_apart",
    "infer",
    "infer_with_conflicts",
    "is_same_in_a_run",
    "is_short_pool",
    "range_of_array",
    "range_of_result",
    "range_of_type",
]
