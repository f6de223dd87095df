"""Values in the files of onnx's backend tests, and their tolerances."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from onnx import OptionalProto, SequenceProto, TensorProto, TypeProto, numpy_helper

TOLERANCES = {
    np.dtype(np.float16): (2**-9, 2**-9),
    np.dtype(ml_dtypes.bfloat16): (2**-6, 2**-6),
    np.dtype(np.float32): (2e-5, 2e-6),
    np.dtype(np.float64): (1e-10, 1e-12),
    np.dtype(np.complex64): (2e-5, 2e-6),
    np.dtype(np.complex128): (1e-10, 1e-12),
}
"""Relative and absolute tolerance; every other element type is compared exactly."""


def read(path: Path, type_: TypeProto) -> Any:
    """An array, a list of arrays, or None for an empty optional."""
    data = path.read_bytes()
    if type_.HasField("optional_type"):
        return plain(numpy_helper.to_optional(OptionalProto.FromString(data)))
    if type_.HasField("sequence_type"):
        return plain(numpy_helper.to_list(SequenceProto.FromString(data)))
    return plain(numpy_helper.to_array(TensorProto.FromString(data)))


def write(path: Path, type_: TypeProto, value: Any) -> None:
    """Write a value into a file that `read` reads."""
    path.write_bytes(_proto(type_, value).SerializeToString())


def _proto(type_: TypeProto, value: Any) -> Any:
    if type_.HasField("optional_type"):
        return numpy_helper.from_optional(value)
    if type_.HasField("sequence_type"):
        return numpy_helper.from_list(value)
    return numpy_helper.from_array(np.asarray(value))


def plain(value: Any) -> Any:
    """A runtime's output as an array (strings as objects), a list of arrays, or None."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "US" else array


def difference(found: Any, wanted: Any) -> str:
    """Describe the first difference from the expected value; "" if there is none."""
    if found is None or wanted is None or isinstance(found, list) != isinstance(wanted, list):
        return "" if found is wanted else f"gave {shown(found)}, not {shown(wanted)}"
    if isinstance(wanted, list):
        if len(found) != len(wanted):
            return f"gave {len(found)} items, not {len(wanted)}"
        pairs = enumerate(zip(found, wanted, strict=True))
        differences = ((k, difference(one, other)) for k, (one, other) in pairs)
        return next((f"item {k} {text}" for k, text in differences if text), "")
    if found.dtype != wanted.dtype:
        return f"gave {found.dtype}, not {wanted.dtype}"
    if found.shape != wanted.shape:
        return f"gave shape {list(found.shape)}, not {list(wanted.shape)}"
    return "" if _close(found, wanted) else f"gave {shown(found)}, not {shown(wanted)}"


def _close(found: np.ndarray, wanted: np.ndarray) -> bool:
    if wanted.dtype not in TOLERANCES:
        return bool(np.all(np.equal(found, wanted) | ((found != found) & (wanted != wanted))))
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    relative, absolute = TOLERANCES[wanted.dtype]
    with np.errstate(all="ignore"):
        pair = (found.astype(wide), wanted.astype(wide))
        return bool(np.allclose(*pair, rtol=relative, atol=absolute, equal_nan=True))


def shown(value: Any, most: int = 100) -> str:
    """Describe a value briefly."""
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"[:most]
    text = str(value.tolist())
    return text if len(text) <= most else f"{text[:most]}..."
