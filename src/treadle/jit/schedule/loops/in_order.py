"""One iteration after the other: every loop can run so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InOrder:
    """One iteration after the other."""

    def __str__(self) -> str:
        return "in order"
