"""Models from wheels, downloaded by name.

Only the packages of the table are asked for, without what they depend on; where from (an index, a
folder of wheels) is pip's own settings. What is kept in the folder is not downloaded again.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import onnx

FOLDER = Path(tempfile.gettempdir()) / "treadle-wheels"


@dataclass(frozen=True)
class Shipped:
    """Models of a package by the pattern of their file names; inputs have a shape or a value."""

    package: str
    pattern: str
    inputs: Mapping[str, tuple[int, ...] | np.ndarray]


_RATE = np.array(16_000)
_LETTERS = np.arange(1, 41)[None] % 16
_SEQUENCE = {"input": (20, 576), "h": (1, 1, 128), "c": (1, 1, 128)}
_MARKS = {"char_inputs": _LETTERS, "diac_inputs": _LETTERS, "input_lengths": np.array([40])}
SHIPPED = (
    Shipped("silero-vad", "*_16k_sequence.onnx", _SEQUENCE),
    Shipped("silero-vad", "*.onnx", {"input": (1, 576), "state": (2, 1, 128), "sr": _RATE}),
    Shipped("rapidocr-onnxruntime", "*_det_*.onnx", {"x": (1, 3, 320, 320)}),
    Shipped("rapidocr-onnxruntime", "*_rec_*.onnx", {"x": (1, 3, 48, 320)}),
    Shipped("rapidocr-onnxruntime", "*_cls_*.onnx", {"x": (1, 3, 48, 192)}),
    Shipped("magika", "*.onnx", {"bytes": np.arange(2048)[None] % 256}),
    Shipped("piper-tts", "nakdimon.onnx", {"input_1": _LETTERS}),
    Shipped("piper-tts", "*.onnx", _MARKS),
    Shipped("openwakeword", "melspectrogram.onnx", {"input": (1, 17_280)}),
    Shipped("openwakeword", "embedding_model.onnx", {"input_1": (1, 76, 32, 1)}),
    Shipped("openwakeword", "*.onnx", {}),
)  # fmt: skip


def shipped_models(folder: Path = FOLDER) -> Iterator[tuple[str, bytes, dict[str, np.ndarray]]]:
    """Name, file and feed of every model; those of a package that cannot be had are left out."""
    for package in dict.fromkeys(row.package for row in SHIPPED):
        for wheel in _wheels(package, folder):
            yield from _models(package, wheel)


def _wheels(package: str, folder: Path) -> list[Path]:
    """The wheel of a package, downloaded if the folder has none."""
    pattern = f"{package.replace('-', '_')}-*.whl"
    if not list(folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", str(folder), package]
        subprocess.run(command, check=False)
    found = sorted(folder.glob(pattern))
    if not found:
        sys.stderr.write(f"no wheel of {package}: its models are left out\n")
    return found[-1:]


def _models(package: str, wheel: Path) -> Iterator[tuple[str, bytes, dict[str, np.ndarray]]]:
    with zipfile.ZipFile(wheel) as archive:
        for path in sorted(n for n in archive.namelist() if n.endswith(".onnx")):
            name = path.rpartition("/")[2]
            model = archive.read(path)
            made = _feed(onnx.load_from_string(model), _row(package, name))
            label = "/".join((package, *path.split("/")[-2:]))
            if made is None:
                sys.stderr.write(f"{label}: inputs that no row of the table knows\n")
            else:
                yield label, model, made


def _row(package: str, name: str) -> Shipped:
    rows = (row for row in SHIPPED if row.package == package and fnmatch(name, row.pattern))
    return next(rows, Shipped(package, name, {}))


def _feed(model: onnx.ModelProto, row: Shipped) -> dict[str, np.ndarray] | None:
    """A value for every input, in its dtype; None where the table lacks one."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    if not all(value.name in row.inputs for value in inputs):
        return None
    random = np.random.default_rng(0)
    feed = {}
    for value in inputs:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        given = row.inputs[value.name]
        made = given if isinstance(given, np.ndarray) else random.standard_normal(given) * 0.1
        feed[value.name] = made.astype(dtype)
    return feed
