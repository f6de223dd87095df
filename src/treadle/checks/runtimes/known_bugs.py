"""The table of wrong answers of onnxruntime, written by `python -m tools.sweep`.

A row holds an operator, version, element type and edge (values near 2**31, the least, NaN ...),
with the releases of onnxruntime that gave a wrong answer. The planner and `check` both read this
table: `check` heeds every row, a session those of its release, or all if its release is none of
`RELEASES`, which were measured.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from treadle.ir import DType, Leaf, Tensor

_WHOLE = tuple(DType(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64))
_LOST = ("nan", "inf")

RELEASES = ("1.31.1", "1.32.0")
"""The releases of onnxruntime for which the table was measured whole."""


class KnownBug(NamedTuple):
    """One defect; `form` is the attribute that must be present, as name=value, or ""."""

    edge: str
    form: str
    releases: tuple[str, ...]


def bugs_of(step: Leaf, release: str = "") -> Sequence[KnownBug]:
    """The known defects of the step for integers, of a release or of any.

    Of the defects for floats only those for NaN and infinities have a consequence: see
    `lost_elements`. The others are listed in the docs.
    """
    dtype = _dtype(step)
    if dtype not in _WHOLE:
        return ()
    which = str(step.version), dtype.value
    found = (bug for *of, bug in _rows_of(step.domain, step.op) if tuple(of) == which)
    return [bug for bug in found if _concerns(bug, step, release)]


def lost_elements(step: Leaf, release: str = "") -> frozenset[str]:
    """Of "nan" and "inf" those that a release, or any, answers wrongly if an operand holds them.

    A defect seen in one version of the operator is taken to be in all of them.
    """
    dtype = _dtype(step)
    if dtype is None or dtype in _WHOLE:
        return frozenset()
    found = (bug for _, of, bug in _rows_of(step.domain, step.op) if of == dtype.value)
    return frozenset(
        bug.edge for bug in found if bug.edge in _LOST and _concerns(bug, step, release)
    )


def _dtype(step: Leaf) -> DType | None:
    first = step.operands[0] if step.operands else None
    type_ = first.type if first is not None else None
    return type_.dtype if isinstance(type_, Tensor) else None


def _concerns(bug: KnownBug, step: Leaf, release: str) -> bool:
    has_form = not bug.form or _has(step, bug.form)
    return has_form and (release not in RELEASES or release in bug.releases)


def _has(step: Leaf, form: str) -> bool:
    name, _, value = form.partition("=")
    attribute = step.attributes.get(name)
    if attribute is None:
        return False
    found = attribute.value
    return (found.decode(errors="replace") if isinstance(found, bytes) else str(found)) == value


@cache
def _rows_of(domain: str, op: str) -> Sequence[tuple[str, str, KnownBug]]:
    """The defects of an operator, each with the version and the element type.

    Only the rows of the operators of a model are parsed: parsing all takes a first session 1 ms.
    """
    found, own = [], f"\n{domain}\t{op}\t"
    text = _table()
    start = text.find(own)
    while start >= 0:
        row = text[start + len(own) : text.index("\n", start + 1)]
        version, dtype, edge, form, releases, *_ = row.split("\t")
        found.append((version, dtype, KnownBug(edge, form, tuple(releases.split()))))
        start = text.find(own, start + 1)
    return found


@cache
def _table() -> str:
    """The file, with a line break before and after every row."""
    with open(os.path.join(os.path.dirname(__file__), "known_bugs.tsv"), "rb") as file:
        return file.read().decode()
