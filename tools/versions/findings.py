"""Results in files that are only appended to: a line of JSON for each model and opset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "build" / "versions"


def findings(file: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """What was found, the last word on each; what was begun and never ended has died."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    if file.exists():
        for line in file.read_text().splitlines():
            row = json.loads(line)
            found[row["case"], row["opset"]] = row
    return found
