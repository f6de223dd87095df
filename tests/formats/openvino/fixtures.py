"""The IR models of the tests, with their inputs and outputs.

`in<k>__<name>` is feed k, `out<k>__<name>` what OpenVINO 2026.4.1 answered; `ov<k>__` and
`ort<k>__` where both OpenVINO and onnxruntime did, for models that came from ONNX.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

DATA = Path(__file__).parent / "data"
NAMES = sorted(path.stem for path in DATA.glob("*.xml"))
STALE = {
    "onnx_loop_nested_zero_inner_scan": "rows of an earlier iteration are left in a stacked output",
    "onnx_loop_while_noM": "rows of an earlier run are left in a stacked output",
}
"""Where OpenVINO's own answer is wrong by its documentation: onnxruntime's holds."""


class Feed(NamedTuple):
    """One run of a fixture."""

    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]


def feeds(name: str) -> list[Feed]:
    """The runs of a fixture, in order."""
    path = DATA / f"{name}.npz"
    if not path.exists():
        return []
    with np.load(path) as archive:
        kept = {key: archive[key] for key in archive.files}
    numbers = sorted({int(key.split("__")[0][2:]) for key in kept if key.startswith("in")})
    told = "ort" if name in STALE else "ov"
    return [
        Feed(_of(kept, f"in{k}"), _of(kept, f"out{k}") | _of(kept, f"{told}{k}")) for k in numbers
    ]


def _of(kept: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {
        key.split("__", 1)[1]: array
        for key, array in kept.items()
        if key.split("__", 1)[0] == prefix
    }


def differences(got: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> list[str]:
    """What is not the same: shapes and dtypes exactly, whole numbers exactly, floats nearly."""
    found = []
    for name, array in wanted.items():
        have = got.get(name)
        if have is None:
            found.append(f"{name} is missing, there are {list(got)}")
        elif (have.shape, have.dtype) != (array.shape, array.dtype):
            found.append(f"{name}: {have.dtype}{have.shape}, wanted {array.dtype}{array.shape}")
        elif not _same(have, array):
            found.append(f"{name}: {have}, wanted {array}")
    return found


def _same(one: np.ndarray, two: np.ndarray) -> bool:
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, two))
    return bool(np.allclose(one, two, rtol=1e-5, atol=1e-6, equal_nan=True))
