"""Draws the results as an SVG: a bar for each model, on light and dark pages.

A bar says how many times faster than onnxruntime treadle is, on a logarithmic scale: to the right
of 1 where it is faster, to the left where it is slower. A mark says the same of C, another of JAX.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from benchmarks.show import rounded
from benchmarks.timing import Row

TEXT, LINE, BAR = "#78818b", "#78818b55", "#3b82d6"
MARKS = {"C": "#e08a2e", "JAX": "#a678e0"}
"""Middling tones: each stands out from white and from black."""

LEFT, SCALE, RIGHT = 270, 480, 70
TOP, ROW, BOTTOM = 60, 20, 34
THICK = 12


class Scale(NamedTuple):
    """The powers of ten from the slowest bar or mark to the fastest; 1 is among them."""

    low: int
    high: int

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Scale:
        """The scale that holds all speeds of the rows."""
        logs = [math.log10(speed) for row in rows for speed in _speeds(row).values()]
        return cls(
            min(0, math.floor(min(logs, default=0))), max(1, math.ceil(max(logs, default=1)))
        )

    def at(self, speed: float) -> float:
        """Where a speed stands, in pixels from the left."""
        return LEFT + SCALE * (math.log10(speed) - self.low) / (self.high - self.low)


def svg(rows: Sequence[Row], about: Mapping[str, str]) -> str:
    """The chart of the rows that onnxruntime runs too, fastest first, and what ran them."""
    shown = sorted(
        (row for row in rows if row.ratio("onnxruntime")),
        key=lambda row: -(row.ratio("onnxruntime") or 0.0),
    )
    scale = Scale.of(shown)
    height = TOP + ROW * len(shown) + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + SCALE + RIGHT} {height}"'
        f' width="{LEFT + SCALE + RIGHT}" height="{height}" font-family="sans-serif"'
        f' font-size="12" fill="{TEXT}">',
        "<title>How many times faster than onnxruntime</title>",
        *_head(scale, height),
        _text(8, height - 10, _machine(about), "start"),
    ]
    for number, row in enumerate(shown):
        lines += _row(row, TOP + ROW * number, scale)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _machine(about: Mapping[str, str]) -> str:
    versions = [f"{name} {about[name]}" for name in ("onnxruntime", "jax") if name in about]
    return ", ".join([about["processor"], f"{about['cores']} cores", *versions])


def _speeds(row: Row) -> dict[str, float]:
    """How many times faster than onnxruntime each column is."""
    theirs = row.onnxruntime
    return {
        column: theirs / row.seconds[column]
        for column in ("treadle", *MARKS)
        if theirs is not None and column in row.seconds
    }


def _head(scale: Scale, height: int) -> Iterator[str]:
    """The legend, and a line for every power of ten."""
    yield _text(8, 16, "how many times faster than onnxruntime (1: as fast)", "start")
    entries = {"treadle": BAR, **MARKS}
    for place, (name, colour) in enumerate(entries.items()):
        x = LEFT + 270 + 70 * place
        width = 4 if name in MARKS else THICK
        yield f'<rect x="{x}" y="6" width="{width}" height="{THICK}" fill="{colour}"/>'
        yield _text(x + width + 5, 16, name, "start")
    for power in range(scale.low, scale.high + 1):
        x = scale.at(10.0**power)
        yield f'<path d="M{x:.1f} {TOP - 12}V{height - BOTTOM}" stroke="{LINE}"/>'
        yield _text(x, TOP - 18, f"{10**power:,}" if power >= 0 else f"{10.0**power:g}", "middle")


def _row(row: Row, y: int, scale: Scale) -> Iterator[str]:
    speeds, middle = _speeds(row), y + ROW / 2
    begin, end = sorted((scale.at(1.0), scale.at(speeds["treadle"])))
    top = middle - THICK / 2
    yield _text(LEFT - 8, middle + 4, row.title, "end")
    yield (
        f'<rect x="{begin:.1f}" y="{top:g}" width="{end - begin:.1f}" height="{THICK}" rx="2"'
        f' fill="{BAR}"/>'
    )
    for column, colour in MARKS.items():
        if column in speeds:
            x = scale.at(speeds[column]) - 2
            yield (
                f'<rect x="{x:.1f}" y="{top - 2:g}" width="4" height="{THICK + 4}"'
                f' fill="{colour}"><title>{column}: {rounded(speeds[column])}</title></rect>'
            )
    yield _text(LEFT + SCALE + RIGHT - 4, middle + 4, rounded(speeds["treadle"]), "end")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'
