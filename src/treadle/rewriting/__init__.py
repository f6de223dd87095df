"""The public functions that rewrite a model for a runtime, one file each.

Each takes any source of `treadle.load` and returns an equivalent Model: the same values and the
same failures for every feed. Names and types of inputs and outputs stay, except where the
function's own docstring says otherwise. If a rewrite is not possible it raises `Unsupported`, whose
`findings` list every obstacle with its path, the reason, and a hint. With `with_report=True` a
function also returns a Report of the changes.
"""

from treadle.rewriting.by_name import rewrite
from treadle.rewriting.converting import convert_version
from treadle.rewriting.precision import convert_dtype
from treadle.rewriting.rerolling import reroll
from treadle.rewriting.specializing import specialize
from treadle.rewriting.unrolling import unroll

__all__ = ["convert_dtype", "convert_version", "reroll", "rewrite", "specialize", "unroll"]
