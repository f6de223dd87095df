"""The loop models of the suite: importing this fills the registry, in the order of the tables."""

from benchmarks.models import (
    decoding,
    dynamic,
    fields,
    filters,
    iterative,
    recurrent,
    scalar,
    statespace,
    tables,
)
from benchmarks.registry import BENCHMARKS

__all__ = [
    "BENCHMARKS", "decoding", "dynamic", "fields", "filters", "iterative", "recurrent", "scalar",
    "statespace", "tables",
]  # fmt: skip
