"""Writes the results of the sweep: the package's table and the docs' page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "src/treadle/checks/runtimes/known_bugs.tsv"
PAGE = ROOT / "docs/known_bugs.md"
HEAD = ("domain", "operator", "version", "dtype", "edge", "form", "releases", "wrong", "asked")
_INTRODUCTION = """# What onnxruntime gets wrong

`python -m tools.sweep` writes this page. It runs every operator on values at the limits of its
element types, in several forms and shapes, and compares the answers with the standard. A row
counts how many of the `asked` runs gave a wrong answer, beyond the tolerances of the tests, or
ended the process, on the releases that it names, on x86-64. If a row names a form, only runs with
that attribute were wrong. A form that gives another answer over small values, too, is not
counted: there the runtime reads the standard differently.

A default session avoids the faults of whole numbers, of NaN and of infinities: see `exact.py`,
`division.py`, `known_bugs.py` and `workarounds` in `src/treadle/delegate`. On a release that the
table names, it applies the rows of that release; on any other release, it applies all rows.
`treadle check --for onnxruntime` reports the faults of whole numbers.

Control flow has pages of its own: [conformance of runtimes](conformance.md) and its
[reports](reports/README.md). [Which runtime for which loop](which_runtime.md) sums all of them up.

"""


@dataclass(frozen=True, order=True)
class Row:
    """One fault: `wrong` of `asked` questions; the form is an attribute all wrong ones have."""

    domain: str
    op: str
    version: int
    dtype: str
    edge: str
    form: str
    releases: tuple[str, ...]
    wrong: int
    asked: int

    @property
    def key(self) -> tuple[str, ...]:
        """What the row is about."""
        return (self.domain, self.op, str(self.version), self.dtype, self.edge, self.form)

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        return (*self.key, " ".join(self.releases), str(self.wrong), str(self.asked))


def write(rows: Iterable[Row], release: str, asked: Collection[tuple[str, str]]) -> None:
    """The table of the package and the page of the docs.

    Rows of the operators that were asked are replaced for this release; others stay.
    """
    measured = {row.key: row for row in sorted(rows)}
    merged: dict[tuple[str, ...], Row] = {}
    for row in read():
        others = tuple(each for each in row.releases if each != release)
        is_asked = (row.domain, row.op) in asked
        kept = others if is_asked else row.releases
        if kept:
            merged[row.key] = replace(row, releases=kept)
    for key, row in measured.items():
        before = merged[key].releases if key in merged else ()
        merged[key] = replace(row, releases=tuple(sorted({*before, release})))
    ordered = sorted(merged.values())
    lines = ["\t".join(HEAD), *("\t".join(row.cells) for row in ordered)]
    TABLE.write_text("\n".join(lines) + "\n")
    PAGE.write_text(_INTRODUCTION + _markdown(ordered))


def read() -> list[Row]:
    """The rows of the package's table."""
    return [_row(line.split("\t")) for line in TABLE.read_text().splitlines()[1:]]


def _row(cells: Sequence[str]) -> Row:
    domain, op, version, dtype, edge, form, releases, wrong, asked = cells
    names = tuple(releases.split())
    return Row(domain, op, int(version), dtype, edge, form, names, int(wrong), int(asked))


def _markdown(rows: Sequence[Row]) -> str:
    words = [("operator", "version", "element type", "edges", "form", "releases", "wrong", "asked")]
    merged: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        name = f"{row.domain}::{row.op}" if row.domain else row.op
        key = (name, str(row.version), row.dtype, row.form, ", ".join(row.releases))
        merged.setdefault(key, []).append(row)
    for (name, version, dtype, form, releases), found in merged.items():
        edges = ", ".join(row.edge for row in found)
        counts = (str(sum(row.wrong for row in found)), str(sum(row.asked for row in found)))
        words.append((name, version, dtype, edges, form, releases, *counts))
    head, *body = ("| " + " | ".join(cells) + " |" for cells in words)
    return "\n".join([head, "|" + "---|" * len(words[0]), *body]) + "\n"
