"""Writes docs/versions.md: how many models each tool converts, and operators without a form."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.versions.cases import GROUPS
from tools.versions.findings import FOLDER, findings

PAGE = Path(__file__).parents[2] / "docs" / "versions.md"
PARTIES = ("treadle", "onnx", "onnxscript")
_TITLES = {
    "exporters": "Models of exporters",
    "control_flow": "Control flow at its edges",
    "nodes": "Node cases of onnx's backend suite",
}
_HEAD = """# Models in other opsets

What `treadle convert --opset` and two peers make of the same models: onnx's version converter, and
onnxscript's, which falls back on it. A model counts where the party gives a model of the opset that
onnxruntime loads and runs to the same outputs, which for treadle's interp gives too. Models that
onnxruntime does not run, or answers wrongly, in their own opset are left out, and so are those that
draw random numbers. Every number is of models. Where a field is empty, the party was not asked
about every model, but up to opset 26 about every one that treadle refuses. Made with onnx {onnx}
and onnxruntime {onnxruntime}.

`python -m tools.versions` finds out (it goes on where it stopped), and with `--write` writes this
page.
"""
_STEP = re.compile(r"([A-Za-z0-9]+)-\d+: (.*)")
_GIVES = re.compile(r"(\w+) (gives an element .*)")
_BORDER = re.compile(r"^\S+ (is a list or an optional at the border of the model)")
_LISTS = re.compile(r"to \S+, (a list or an optional)")
_KERNEL = re.compile(r"implementation for (\w+)\((\d+)\)")
_PLACE = re.compile(r"^(\S+) (.*) \(onnx, (\S+)\)$")
_ONNX = "https://github.com/onnx/onnx/blob/main/"

Table = Mapping[tuple[str, int], dict[str, Any]]


def write() -> None:
    """Write the page from what was found."""
    from onnx import __version__ as onnx_version
    from onnxruntime import __version__ as onnxruntime_version

    parts = [_HEAD.format(onnx=onnx_version, onnxruntime=onnxruntime_version)]
    for group in GROUPS:
        tables = {who: findings(FOLDER / f"{who}_{group}.jsonl") for who in PARTIES}
        parts.append("\n".join(_counts(group, tables)))
        parts.append("\n".join(_missing(tables)))
    parts += ["\n".join(_reasons()), "\n".join(_without_kernel())]
    PAGE.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


def _opsets(table: Table) -> list[int]:
    return sorted({opset for _, opset in table if opset})


def _counts(group: str, tables: Mapping[str, Table]) -> Iterator[str]:
    ours = tables["treadle"]
    yield f"## {_TITLES[group]}\n"
    yield "| opset | models | treadle | treadle refuses | treadle, other | onnx | onnxscript |"
    yield "|--:|--:|--:|--:|--:|--:|--:|"
    for opset in _opsets(ours):
        kinds = Counter(row["kind"] for (_, k), row in ours.items() if k == opset)
        asked = {case for case, k in ours if k == opset}
        peers = [_same(tables[who], opset, asked) for who in PARTIES[1:]]
        other = kinds.total() - kinds["same"] - kinds["refused"]
        row = [opset, kinds.total(), kinds["same"], kinds["refused"], other, *peers]
        yield f"| {' | '.join(map(str, row))} |"
    yield ""


def _same(table: Table, opset: int, cases: Collection[str]) -> object:
    """How many of the cases a party brings over; "" if it was not asked about all of them."""
    kinds = [table[case, opset]["kind"] for case in cases if (case, opset) in table]
    return kinds.count("same") if len(kinds) == len(cases) else ""


def _missing(tables: Mapping[str, Table]) -> Iterator[str]:
    """What a peer brings over rightly and treadle does not."""
    rows = [
        (case, opset, who)
        for who in PARTIES[1:]
        for (case, opset), row in tables[who].items()
        if row["kind"] == "same" and tables["treadle"].get((case, opset), row)["kind"] != "same"
    ]
    yield "Brought over by a peer and not by treadle: " + (
        "none." if not rows else f"{len(rows)}.\n"
    )
    for case, opset, who in sorted(rows):
        yield f"* {case} to {opset}, by {who}"
    yield ""


def _reasons() -> Iterator[str]:
    """Every operator that stood in the way, why, and the schema that leaves it out."""
    opsets: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    cases: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for group in GROUPS:
        for (case, opset), row in findings(FOLDER / f"treadle_{group}.jsonl").items():
            for message, clause in row.get("obstacles", ()):
                step = _STEP.match(message) or _GIVES.match(message)
                op, why = step.groups() if step else ("", message)
                key = op, _plain(why), _linked(clause)
                opsets[key].add(opset)
                cases[key].add(case)
    yield "## What has no form\n"
    yield "The clause is what the schema of the older opset leaves out, read from onnx's schemas."
    yield 'Lists and optionals at the border become tensors with `outputs="stacked"`.\n'
    yield "| operator | why | clause | opsets | models |"
    yield "|---|---|---|---|--:|"
    for key in sorted(opsets):
        yield f"| {' | '.join(key)} | {_span(sorted(opsets[key]))} | {len(cases[key])} |"
    yield ""


def _linked(clause: str) -> str:
    """A clause with a link to its place in onnx's documents."""
    return _PLACE.sub(rf"[\1]({_ONNX}\3) \2", clause)


def _plain(why: str) -> str:
    """A reason without the opset, which has a column, and without names of values."""
    why = re.sub(r"^opset \d+ has none: ", "", _BORDER.sub(r"an input or output \1", why))
    return re.sub(r'"[^"]*"', "a value", _LISTS.sub(r"to \1", why))


def _without_kernel() -> Iterator[str]:
    """What onnxruntime cannot load, or answers otherwise."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for group in GROUPS:
        for (case, opset), row in findings(FOLDER / f"treadle_{group}.jsonl").items():
            if opset and row["kind"] not in ("same", "refused"):
                kernel = _KERNEL.search(row["why"])
                why = f"no kernel of {'-'.join(kernel.groups())}" if kernel else row["kind"]
                found[case, why].add(opset)
    yield "## What onnxruntime does not load\n"
    yield "Models counted as other; they pass onnx's checker.\n"
    yield "| model | onnxruntime | opsets |"
    yield "|---|---|---|"
    for (case, why), opsets in sorted(found.items()):
        yield f"| {case} | {why} | {_span(sorted(opsets))} |"
    yield ""


def _span(opsets: list[int]) -> str:
    low, high = opsets[0], opsets[-1]
    return str(low) if low == high else f"{low} to {high}"
