"""The figures as a picture: a bar a model, in SVG, readable on light and on dark pages.

A bar says how many times faster than onnxruntime treadle is, on a logarithmic scale; a mark on it
says the same of C, another of JAX.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from benchmarks.show import rounded
from benchmarks.timing import Row

TEXT, LINE, BAR = "#78818b", "#78818b55", "#3b82d6"
MARKS = {"C": "#e08a2e", "JAX": "#a678e0"}
"""Middling tones: each stands out from white and from black."""

LEFT, SCALE, RIGHT = 270, 480, 70
TOP, ROW, BOTTOM = 60, 20, 12
THICK = 12


def svg(rows: Sequence[Row]) -> str:
    """The chart of the rows that onnxruntime runs too, fastest first."""
    shown = sorted(
        (row for row in rows if row.ratio("onnxruntime")),
        key=lambda row: -(row.ratio("onnxruntime") or 0.0),
    )
    decades = _decades(shown)
    height = TOP + ROW * len(shown) + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + SCALE + RIGHT} {height}"'
        f' width="{LEFT + SCALE + RIGHT}" height="{height}" font-family="sans-serif"'
        f' font-size="12" fill="{TEXT}">',
        "<title>How many times faster than onnxruntime</title>",
        *_head(decades, height),
    ]
    for number, row in enumerate(shown):
        lines += _row(row, TOP + ROW * number, decades)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _decades(rows: Sequence[Row]) -> int:
    """How many powers of ten the longest bar or mark needs."""
    found = [ratio for row in rows for ratio in _speeds(row).values()]
    return max(1, math.ceil(math.log10(max(found, default=10.0))))


def _speeds(row: Row) -> dict[str, float]:
    """How many times faster than onnxruntime each column is."""
    theirs = row.onnxruntime
    return {
        column: theirs / row.seconds[column]
        for column in ("treadle", *MARKS)
        if theirs is not None and column in row.seconds
    }


def _at(speed: float, decades: int) -> float:
    return LEFT + SCALE * max(0.0, math.log10(speed)) / decades


def _head(decades: int, height: int) -> Iterator[str]:
    """The legend, and a line for every power of ten."""
    yield _text(LEFT, 16, "times faster than onnxruntime, one iteration", "start")
    entries = {"treadle": BAR, **MARKS}
    for place, (name, colour) in enumerate(entries.items()):
        x = LEFT + 300 + 70 * place
        width = 4 if name in MARKS else THICK
        yield f'<rect x="{x}" y="6" width="{width}" height="{THICK}" fill="{colour}"/>'
        yield _text(x + width + 5, 16, name, "start")
    for power in range(decades + 1):
        x = _at(10.0**power, decades)
        yield f'<path d="M{x:.1f} {TOP - 12}V{height - BOTTOM}" stroke="{LINE}"/>'
        yield _text(x, TOP - 18, f"{10**power:,}", "middle")


def _row(row: Row, y: int, decades: int) -> Iterator[str]:
    speeds, middle = _speeds(row), y + ROW / 2
    width = _at(speeds["treadle"], decades) - LEFT
    top = middle - THICK / 2
    yield _text(LEFT - 8, middle + 4, row.title, "end")
    yield (
        f'<rect x="{LEFT}" y="{top:g}" width="{width:.1f}" height="{THICK}" rx="2" fill="{BAR}"/>'
    )
    for column, colour in MARKS.items():
        if column in speeds:
            x = _at(speeds[column], decades) - 2
            yield (
                f'<rect x="{x:.1f}" y="{top - 2:g}" width="4" height="{THICK + 4}"'
                f' fill="{colour}"><title>{column}: {rounded(speeds[column])}</title></rect>'
            )
    yield _text(LEFT + SCALE + RIGHT - 4, middle + 4, rounded(speeds["treadle"]), "end")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'
