"""Prints a table, or writes it into a page between two marks."""

from __future__ import annotations

import sys
from pathlib import Path


def put(written: str, page: Path | None, begin: str, end: str) -> None:
    """Print the text, or write it into the page between the marks."""
    if page is None:
        sys.stdout.write(written)
        return
    text = page.read_text(encoding="utf-8")
    before, after = text.split(begin)[0], text.split(end)[1]
    page.write_text(f"{before}{begin}\n{written}{end}{after}", encoding="utf-8")
