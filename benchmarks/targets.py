"""The targets of the suite, and whether they are reached."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.show import mean
from benchmarks.timing import Row

KINDS = {
    "scalar": 300.0,
    "filter": 1000.0,
    "nested-dp": 1000.0,
    "selective": 10.0,
    "nms": 20.0,
    "image": 10.0,
    "growing": 2.0,
    "list": 30.0,
    "row": 50.0,
}
"""The least ratio of onnxruntime's time to treadle's for every model of a kind."""

MODELS = {"lstm_64_b1": 6.0, "lstm_256_b1": 1.4}
"""The same of single models."""

NOISE = 0.95
"""A ratio as good as one."""


def targets(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    """Each target in words with what was found, and whether it is reached."""
    found = []
    for row in rows:
        wanted, ratio = MODELS.get(row.name, KINDS.get(row.kind)), row.ratio("onnxruntime")
        if wanted is not None:
            said = "none" if ratio is None else f"{ratio:.3g}"
            found.append((f"{row.title}: {said}, wanted {wanted:g}", (ratio or 0.0) >= wanted))
    least = min(rows, key=lambda row: row.ratio("onnxruntime") or 0.0)
    ratio = least.ratio("onnxruntime") or 0.0
    found.append((f"least of all, {least.title}: {ratio:.3g}, wanted 1", ratio >= NOISE))
    for column, wanted in (("onnxruntime", 30.0), ("C", 0.5)):
        middle = mean(row.ratio(column) for row in rows)
        if middle is not None:
            found.append((f"{column}, mean: {middle:.3g}, wanted {wanted:g}", middle >= wanted))
    ratios = [ratio for row in rows if (ratio := row.ratio("JAX")) is not None]
    if ratios:
        share = sum(ratio > 1 for ratio in ratios) / len(ratios)
        found.append((f"ahead of JAX: {share:.0%}, wanted 75%", share >= 0.75))
    return found
