"""Finds the smallest model, trip counts and inputs on which a command still fails."""

from treadle.reduction.candidates import Case
from treadle.reduction.search import Reduced, reduce_case
from treadle.reduction.trial import Archive

__all__ = ["Archive", "Case", "Reduced", "reduce_case"]
