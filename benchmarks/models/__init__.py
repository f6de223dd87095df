"""The loop models of the suite, in the order of the tables."""

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
from benchmarks.registry import REGISTERED

ORDER = (
    scalar, filters, fields, iterative, dynamic, recurrent, statespace, decoding, tables,
)  # fmt: skip

BENCHMARKS = {
    name: made
    for module in ORDER
    for name, made in REGISTERED.items()
    if made.make.__module__ == module.__name__
}
"""Every model by its name."""

__all__ = ["BENCHMARKS"]
