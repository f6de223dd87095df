"""Reads deviations.toml: the known differences between OpenVINO and treadle."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Deviation(NamedTuple):
    """One entry, in words for a reader."""

    seen: str
    case: str
    openvino: str
    treadle: str
    why: str


_WRITTEN = tomllib.loads((Path(__file__).with_suffix(".toml")).read_text(encoding="utf-8"))
DEVIATIONS: Mapping[str, Deviation] = {name: Deviation(**entry) for name, entry in _WRITTEN.items()}
