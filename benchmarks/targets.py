"""The targets of the suite as a whole, and whether they are reached; a single model has none."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.show import mean
from benchmarks.timing import Row

MEANS = {"onnxruntime": 30.0, "C": 0.85}
"""The least geometric mean of how many times treadle's time a column takes."""

NOISE = 0.95
"""A ratio as good as one."""


def targets(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    """Each target in words with what was found, and whether it is reached."""
    least = min(rows, key=lambda row: row.ratio("onnxruntime") or 0.0)
    ratio = least.ratio("onnxruntime") or 0.0
    found = [(f"least of all, {least.title}: {ratio:.3g}, wanted 1", ratio >= NOISE)]
    for column, wanted in MEANS.items():
        middle = mean(row.ratio(column) for row in rows)
        if middle is not None:
            found.append((f"{column}, mean: {middle:.3g}, wanted {wanted:g}", middle >= wanted))
    ratios = [ratio for row in rows if (ratio := row.ratio("JAX")) is not None]
    if ratios:
        share = sum(ratio >= NOISE for ratio in ratios) / len(ratios)
        found.append((f"ahead of JAX: {share:.0%}, wanted 100%", share == 1))
    return found
