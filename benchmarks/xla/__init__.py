"""The models in JAX, compiled by XLA; imported only if JAX is installed."""

from benchmarks.xla import iterative, recurrent, scalar
from benchmarks.xla.twins import TWINS, prepare

__all__ = ["TWINS", "iterative", "prepare", "recurrent", "scalar"]
