"""HTML for notebooks: tables and text in `<details>`, without scripts, of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["details", "escaped", "join", "preformatted", "table"]

_MOST_BYTES = 90_000
_MOST_ROWS = 100
_MOST_LINES = 200


def details(summary: str, *parts: str, is_open: bool = False) -> str:
    """A line that opens what is below it."""
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of text; of more than 100 rows the first ones, and how many there are besides."""
    given = list(rows)
    lines = [_row("td", row) for row in given[:_MOST_ROWS]]
    more = len(given) - len(lines)
    rest = f"<p>... and {more:,} more</p>" if more else ""
    return f"<table>{_row('th', head)}{''.join(lines)}</table>{rest}"


def preformatted(text: str) -> str:
    """Text as it is; of more than 200 lines the first ones."""
    lines = text.splitlines()
    more = len(lines) - _MOST_LINES
    shown = lines if more <= 0 else [*lines[:_MOST_LINES], f"... and {more:,} more lines"]
    return f'<pre style="text-align:left">{escape(chr(10).join(shown))}</pre>'


def join(parts: Iterable[str]) -> str:
    """The parts one after the other, as many as fit into 90 kB, and how many are left out."""
    kept: list[str] = []
    given, size = list(parts), 0
    for part in given:
        size += len(part.encode("utf-8"))
        if size > _MOST_BYTES:
            kept.append(f"<p>... and {len(given) - len(kept):,} more parts</p>")
            break
        kept.append(part)
    return f"<div>{''.join(kept)}</div>"


def escaped(text: str) -> str:
    """Text as HTML."""
    return escape(text)


def _row(cell: str, items: Sequence[object]) -> str:
    cells = (f'<{cell} style="text-align:left">{escape(str(item))}</{cell}>' for item in items)
    return f"<tr>{''.join(cells)}</tr>"
