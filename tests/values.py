"""Values as written in case files, and their tolerances.

    {float32 = [1, 2]}                     a tensor, its shape that of the lists
    {float32 = [], shape = [0, 2]}         an empty one, whose shape the lists cannot show
    {seq = [value, value]}                 a sequence
    {none = true}                          an empty optional

Complex numbers are pairs, strings are strings, and bfloat16, float8*, int4 ... are numbers too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treadle.ir import DType, dtype_of

TOLERANCES = {
    DType.FLOAT16: (2**-9, 2**-9),
    DType.BFLOAT16: (2**-6, 2**-6),
    DType.FLOAT32: (2e-5, 2e-6),
    DType.FLOAT64: (1e-10, 1e-12),
    DType.COMPLEX64: (2e-5, 2e-6),
    DType.COMPLEX128: (1e-10, 1e-12),
}
"""Relative and absolute tolerance; every other element type is compared exactly."""


def read_value(written: Mapping[str, object]) -> object:
    """The run-time value that a case file writes."""
    if "none" in written:
        return None
    if "seq" in written:
        return [read_value(item) for item in written["seq"]]
    (word,) = written.keys() - {"shape"}
    dtype = DType(word)
    data = np.array(written[word], object if dtype is DType.STRING else None)
    if dtype in (DType.COMPLEX64, DType.COMPLEX128) and data.size:
        data = data[..., 0] + 1j * data[..., 1]
    array = data.astype(dtype.numpy)
    return array.reshape(written["shape"]) if "shape" in written else array


def write_value(value: object) -> str:
    """How a case file writes a run-time value; the inverse of `read_value`."""
    if value is None:
        return "{none = true}"
    if isinstance(value, list):
        return "{seq = [" + ", ".join(map(write_value, value)) + "]}"
    array = np.asarray(value)
    if array.size == 0:
        return f"{{{dtype_of(array.dtype)} = [], shape = {list(array.shape)}}}"
    return f"{{{dtype_of(array.dtype)} = {_written(array)}}}"


def _written(item: object) -> str:
    if isinstance(item, np.ndarray) and item.ndim:
        return "[" + ", ".join(map(_written, item)) + "]"
    item = item[()] if isinstance(item, np.ndarray) else item
    if isinstance(item, str):
        return f'"{item}"'
    if isinstance(item, np.complexfloating):
        return f"[{item.real!s}, {item.imag!s}]"
    if isinstance(item, np.bool_ | np.integer):
        return str(item).lower()
    number = float(item)
    return str(int(number)) if number.is_integer() else str(item)


Tolerances = Mapping[DType, tuple[float, float]]


def differences(
    found: object, wanted: object, where: str = "value", tolerances: Tolerances = TOLERANCES
) -> list[str]:
    """Every way in which a value is not the one wanted; [] when they agree."""
    if wanted is None or found is None:
        return [] if found is wanted else [f"{where}: found {_kind(found)}, not {_kind(wanted)}"]
    if isinstance(wanted, dict):
        return [] if found == wanted else [f"{where}: found {found}, not {wanted}"]
    if isinstance(wanted, list):
        return _list_differences(found, wanted, where, tolerances)
    if not isinstance(found, np.ndarray):
        return [f"{where}: found {_kind(found)}, not {_kind(wanted)}"]
    return _array_differences(found, np.asarray(wanted), where, tolerances)


def _list_differences(
    found: object, wanted: list[object], where: str, tolerances: Tolerances
) -> list[str]:
    if not isinstance(found, list):
        return [f"{where}: found {_kind(found)}, not a sequence"]
    if len(found) != len(wanted):
        return [f"{where}: found {len(found)} items, not {len(wanted)}"]
    return [
        line
        for k, (f, w) in enumerate(zip(found, wanted, strict=True))
        for line in differences(f, w, f"{where}[{k}]", tolerances)
    ]


def _array_differences(
    found: np.ndarray, wanted: np.ndarray, where: str, tolerances: Tolerances
) -> list[str]:
    if (dtype := dtype_of(found.dtype)) is not dtype_of(wanted.dtype):
        return [f"{where}: found {found.dtype}, not {wanted.dtype}"]
    if found.shape != wanted.shape:
        return [f"{where}: found shape {list(found.shape)}, not {list(wanted.shape)}"]
    if dtype in tolerances:
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        relative, absolute = tolerances[dtype]
        same = np.isclose(
            found.astype(wide), wanted.astype(wide), relative, absolute, equal_nan=True
        )
    else:
        same = np.equal(found, wanted) | (_is_nan(found) & _is_nan(wanted))
    if np.all(same):
        return []
    return [f"{where}: found {found.tolist()}, not {wanted.tolist()}"]


def _is_nan(array: np.ndarray) -> np.ndarray:
    return np.not_equal(array, array)


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    return f"{type(value).__name__} {getattr(value, 'dtype', '')}".strip()


def assert_same(
    found: Sequence[object],
    wanted: Sequence[object],
    names: Sequence[str],
    tolerances: Tolerances = TOLERANCES,
) -> None:
    """Fail with every difference between two lists of outputs."""
    assert len(found) == len(wanted), f"{len(found)} outputs, not {len(wanted)}"
    lines = [
        line
        for name, f, w in zip(names, found, wanted, strict=True)
        for line in differences(f, w, name, tolerances)
    ]
    assert not lines, "\n".join(lines)
