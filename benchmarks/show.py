"""Prints the results: a table, geometric means, bars, Markdown."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable, Sequence
from datetime import date
from importlib import metadata
from pathlib import Path

from benchmarks import native
from benchmarks.timing import Row
from treadle.jit.toolchain import llvm

COLUMNS = ("onnxruntime", "treadle", "C", "JAX")
HEADLINES = ("kalman", "selective_loop", "greedy", "lstm_64_b1", "cache")
"""The models of the README's table and picture."""
WIDTH = 40
EIGHTHS = " ▏▎▍▌▋▊▉"


def mean(ratios: Iterable[float | None]) -> float | None:
    """The geometric mean of those there are."""
    logs = [math.log(ratio) for ratio in ratios if ratio]
    return math.exp(sum(logs) / len(logs)) if logs else None


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    found = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "vectors": f"of {llvm.host_target().vector_bytes} bytes",
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
    }
    for package in ("numpy", "onnxruntime", "llvmlite", "jax"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    if native.compiler():
        found["C"] = f"by gcc {native.version()} {' '.join(native.FLAGS)}"
    today = date.today()
    return found | {"measured": f"on {today.day} {today:%B %Y}"}


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if not information.exists():
        return platform.processor()
    fields: dict[str, str] = {}
    for line in information.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    family = fields.get("cpu family", "?"), fields.get("model", "?")
    return f"{fields.get('model name', platform.machine())}, family {family[0]}, model {family[1]}"


def microseconds(row: Row, column: str) -> str:
    """Time of one iteration, "" where there is none."""
    seconds = row.onnxruntime if column == "onnxruntime" else row.seconds.get(column)
    if seconds is None:
        return "wrong" if any(name.startswith(column) for name in row.wrong) else ""
    return rounded(seconds / row.iterations * 1e6)


def rounded(number: float | None) -> str:
    """Three digits, or all before the point; "" where there is no number."""
    if number is None:
        return ""
    digits = max(0, 2 - math.floor(math.log10(number))) if number > 0 else 0
    return f"{number:.{min(digits, 5)}f}"


HEADER = (
    f"{'microseconds an iteration':38} {'onnxruntime':>11} {'treadle':>9} {'C':>9} {'JAX':>9}"
    f" | {'/onnxrt':>8} {'/C':>6} {'/JAX':>8} {'compile':>8} {'code':>8}"
)


def line(row: Row) -> str:
    """A row of the table: times, then how many times as long as treadle the others take."""
    times = [microseconds(row, column) for column in COLUMNS]
    ratios = [rounded(row.ratio(column)) for column in ("onnxruntime", "C", "JAX")]
    return (
        f"{row.title:38} {times[0]:>11} {times[1]:>9} {times[2]:>9} {times[3]:>9}"
        f" | {ratios[0]:>8} {ratios[1]:>6} {ratios[2]:>8} {row.compiling * 1e3:5.0f} ms"
        f" {row.code / 1024:5.1f} KB"
    )


def summary(rows: Sequence[Row]) -> list[str]:
    """Geometric means and what was wrong."""
    lines = []
    for column in ("onnxruntime", "C", "JAX"):
        ratios = [ratio for row in rows if (ratio := row.ratio(column)) is not None]
        if ratios:
            ahead = sum(ratio > 1 for ratio in ratios)
            lines.append(
                f"{column} takes {mean(ratios):.2f} times treadle's time in the geometric mean"
                f" of {len(ratios)}; treadle is ahead on {ahead}"
            )
    lines += [f"{row.name}, {name}: {why}" for row in rows for name, why in row.wrong.items()]
    return lines


def bars(rows: Sequence[Row]) -> list[str]:
    """How many times faster than onnxruntime, a logarithmic bar each; a light one is slower."""
    ratios = {row.title: ratio for row in rows if (ratio := row.ratio("onnxruntime"))}
    if not ratios:
        return []
    most = max(10.0, *(max(ratio, 1 / ratio) for ratio in ratios.values()))
    return [
        f"{title:38} {_bar(math.log(ratio) / math.log(most))} {rounded(ratio)}"
        for title, ratio in sorted(ratios.items(), key=lambda item: -item[1])
    ]


def _bar(share: float) -> str:
    if share < 0:
        return "░" * max(1, round(-share * WIDTH))
    eighths = round(share * WIDTH * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (EIGHTHS[rest] if rest else "")


def markdown(rows: Sequence[Row], about: dict[str, str]) -> str:
    """The table for a page."""
    lines = [
        "| model | onnxruntime, µs | treadle, µs | C, µs | JAX, µs | onnxruntime / treadle"
        " | compiled in, ms | code, KB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        times = " | ".join(microseconds(row, column) for column in COLUMNS)
        made = f"{row.compiling * 1e3:.0f} | {row.code / 1024:.1f}"
        lines.append(f"| {row.title} | {times} | {rounded(row.ratio('onnxruntime'))} | {made} |")
    where = ", ".join(f"{key} {value}" for key, value in about.items() if key != "processor")
    means = [f"{text}." for text in summary(rows)]
    return "\n".join([*lines, "", f"{about['processor']}; {where}.", *means]) + "\n"


def headlines(rows: Sequence[Row], about: dict[str, str]) -> str:
    """The short table of the README: microseconds an iteration."""
    lines = ["| loop | onnxruntime, µs | treadle, µs | times faster |", "|---|---:|---:|---:|"]
    for row in (row for row in rows if row.name in HEADLINES):
        theirs, ours = (microseconds(row, column) for column in ("onnxruntime", "treadle"))
        lines.append(f"| {row.title} | {theirs} | {ours} | {rounded(row.ratio('onnxruntime'))} |")
    where = f"{about['processor']}, {about['cores']} cores, onnxruntime {about['onnxruntime']}"
    measured = f"Microseconds an iteration, measured {about['measured']}; {where}."
    return "\n".join([*lines, "", measured]) + "\n"
