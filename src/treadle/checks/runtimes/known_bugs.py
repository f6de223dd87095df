"""The table of wrong answers of onnxruntime, written by `python -m tools.sweep`.

A row holds an operator, version, element type and edge (values near 2**31, the least, NaN ...),
with the releases of onnxruntime that gave a wrong answer. The planner and `check` both read this
table: `check` heeds every row, a session those of its release, or all if its release is none of
`RELEASES`, which were measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from treadle.ir import DType, Leaf, Tensor

_WHOLE = tuple(DType(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64))


RELEASES = ("1.31.1",)
"""The releases of onnxruntime for which the table was measured whole."""


class KnownBug(NamedTuple):
    """One defect; `form` is the attribute that must be present, as name=value, or ""."""

    edge: str
    form: str
    releases: tuple[str, ...]


def bugs_of(step: Leaf, release: str = "") -> Sequence[KnownBug]:
    """The known defects of the step for integers, of a release or of any.

    Defects for floats are listed in the docs.
    """
    first = step.operands[0] if step.operands else None
    type_ = first.type if first is not None else None
    if not isinstance(type_, Tensor) or type_.dtype not in _WHOLE:
        return ()
    assert type_.dtype is not None
    found = _table().get((step.domain, step.op, step.version, type_.dtype.value), ())
    is_measured = release in RELEASES
    return [
        bug
        for bug in found
        if (not bug.form or _has(step, bug.form)) and (not is_measured or release in bug.releases)
    ]


def _has(step: Leaf, form: str) -> bool:
    name, _, value = form.partition("=")
    attribute = step.attributes.get(name)
    if attribute is None:
        return False
    found = attribute.value
    return (found.decode() if isinstance(found, bytes) else str(found)) == value


@cache
def _table() -> Mapping[tuple[str, str, int, str], Sequence[KnownBug]]:
    rows = Path(__file__).with_name("known_bugs.tsv").read_text().splitlines()[1:]
    table: dict[tuple[str, str, int, str], list[KnownBug]] = defaultdict(list)
    for row in rows:
        domain, op, version, dtype, edge, form, releases, *_ = row.split("\t")
        table[domain, op, int(version), dtype].append(KnownBug(edge, form, tuple(releases.split())))
    return table
