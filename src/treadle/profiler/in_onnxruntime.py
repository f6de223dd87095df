"""Reads onnxruntime's own profiles of its regions, by the paths of their steps."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from treadle.profiler.costs import OperatorCost

_TIMED = "_kernel_time"


def operator_costs(folder: Path, runs: int, operators: Mapping[str, str]) -> list[OperatorCost]:
    """Each node of the profiles in a folder: the median over the runs after the first.

    Nodes are named by paths; `operators` has those of the plan. onnxruntime fuses nodes: a fused
    node has its own name.
    """
    micros: dict[str, list[float]] = defaultdict(list)
    made: dict[str, str] = {}
    for event in _events(folder):
        name = str(event["name"]).removesuffix(_TIMED)
        made[name] = operators.get(name) or event.get("args", {}).get("op_name", "")
        micros[name].append(event["dur"])
    return [_cost(name, made[name], found, runs) for name, found in micros.items()]


def _cost(name: str, operator: str, micros: Sequence[float], runs: int) -> OperatorCost:
    each = len(micros) // runs
    sums = [sum(micros[k * each : (k + 1) * each]) for k in range(1, runs)] if each else []
    seconds = median(sums or [sum(micros)]) / 1e6
    return OperatorCost(name, operator, "onnxruntime", seconds, each or len(micros))


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("*.json")):
        for event in json.loads(file.read_text(encoding="utf-8")):
            if event.get("cat") == "Node" and str(event["name"]).endswith(_TIMED):
                yield event
