"""The models in JAX: lax.scan and lax.while_loop, compiled by XLA. Imported where JAX is there."""

from benchmarks.xla import iterative, recurrent, scalar
from benchmarks.xla.twins import TWINS, prepare

__all__ = ["TWINS", "iterative", "prepare", "recurrent", "scalar"]
