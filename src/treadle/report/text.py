"""Formats counts, sizes and times, and tables of plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from treadle.messages import visible

_BYTES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_SAME = 0.96
_SECONDS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


def plural(count: int, noun: str, nouns: str = "") -> str:
    """`1 loop`, `3 loops`, `2 branches` for an irregular plural."""
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def show_bytes(size: int) -> str:
    """`512 bytes`, `1.5 KiB`, `20.0 MiB`."""
    for unit, scale in _BYTES:
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return plural(size, "byte")


def show_seconds(seconds: float) -> str:
    """`1.20 s`, `3.45 ms`, `120 µs`: three digits."""
    unit, scale = next((pair for pair in _SECONDS if seconds >= pair[1]), _SECONDS[-1])
    number = seconds / scale
    digits = 0 if number >= 100 else 1 if number >= 10 else 2
    return f"{number:.{digits}f} {unit}"


def show_factor(seconds: float, other: float) -> str:
    """Compare two times: `8.3 times faster`, `1.4 times slower`, `as fast`."""
    if min(seconds, other) <= 0 or _SAME < seconds / other < 1 / _SAME:
        return "as fast"
    factor = max(seconds, other) / min(seconds, other)
    shown = f"{factor:,.0f}" if factor >= 10 else f"{factor:.1f}"
    return f"{shown} times {'faster' if seconds < other else 'slower'}"


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), indent: int = 0) -> str:
    """Rows in columns two spaces apart, without trailing blanks."""
    lines = [[*map(visible, line)] for line in ((head, *rows) if head else rows)]
    if not lines:
        return ""
    count = max(map(len, lines))
    widths = [
        max((len(line[k]) for line in lines if len(line) > k), default=0) for k in range(count)
    ]
    shown = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False))
        for line in lines
    )
    return "\n".join((" " * indent + line).rstrip() for line in shown)


def indented(lines: Iterable[str], by: int = 2) -> Iterator[str]:
    """Indent each line."""
    return (" " * by + line for line in lines)
