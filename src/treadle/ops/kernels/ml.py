"""Operators of ai.onnx.ml that onnx.reference lacks or gets wrong: maps, categories, norms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle.ops.kernels.registry import ML, evaluates
from treadle.ops.kernels.strings import texts

_NUMBERS: dict[str, Any] = {"TO_FLOAT": np.float32, "TO_INT64": np.int64}


@evaluates("CategoryMapper", 1, domain=ML)
def category_mapper(
    x: np.ndarray,
    *,
    cats_int64s: Sequence[int],
    cats_strings: Sequence[str],
    default_int64: int,
    default_string: str,
) -> np.ndarray:
    """Text to integers or back, by two lists of equal length."""
    if x.dtype.kind == "O":
        numbers = dict(zip(cats_strings, cats_int64s, strict=True))
        found = [numbers.get(word, default_int64) for word in x.reshape(-1).tolist()]
        return np.array(found, np.int64).reshape(x.shape)
    words = dict(zip(cats_int64s, cats_strings, strict=True))
    return texts([words.get(n, default_string) for n in x.reshape(-1).tolist()], x.shape)


@evaluates("LabelEncoder", 1, domain=ML)
def label_encoder_1(
    x: np.ndarray, *, classes_strings: Sequence[str], default_int64: int, default_string: str
) -> np.ndarray:
    """LabelEncoder-1: text to its index in a list, or back."""
    return category_mapper(
        x,
        cats_int64s=range(len(classes_strings)),
        cats_strings=classes_strings,
        default_int64=default_int64,
        default_string=default_string,
    )


@evaluates("LabelEncoder", 2, domain=ML)
def label_encoder_2(x: np.ndarray, **attributes: Any) -> np.ndarray:
    """LabelEncoder-2: each key's value, or the default; NaN never matches."""
    found = label_encoder(x, **attributes)
    if x.dtype.kind == "f" and np.isnan(x).any():
        found[np.isnan(x)] = _default(attributes)
    return found


@evaluates("LabelEncoder", 4, domain=ML)
def label_encoder(x: np.ndarray, **attributes: Any) -> np.ndarray:
    """LabelEncoder: each key's value, or the default; NaN matches NaN."""
    keys = _listed(attributes, "keys")
    values = _listed(attributes, "values")
    table = {_key(key): value for key, value in zip(keys, values, strict=True)}
    default = _default(attributes)
    found = [table.get(_key(each), default) for each in x.reshape(-1).tolist()]
    if isinstance(default, str):
        return texts(found, x.shape)
    return np.array(found, _dtype_of_values(attributes)).reshape(x.shape)


def _listed(attributes: Mapping[str, Any], word: str) -> list[Any]:
    for kind in ("strings", "int64s", "floats"):
        if attributes.get(f"{word}_{kind}"):
            return list(attributes[f"{word}_{kind}"])
    tensor = attributes.get(f"{word}_tensor")
    return [] if tensor is None else list(np.asarray(tensor).reshape(-1).tolist())


def _key(key: Any) -> Any:
    return None if key != key else key


def _default(attributes: Mapping[str, Any]) -> Any:
    tensor = attributes.get("default_tensor")
    if tensor is not None:
        return np.asarray(tensor).reshape(-1).tolist()[0]
    if attributes.get("values_tensor") is not None:
        values = np.asarray(attributes["values_tensor"])
        return _DEFAULTS.get(values.dtype.kind, values.dtype.type(0))
    name = {"values_strings": "default_string", "values_int64s": "default_int64"}
    given = next((name[each] for each in name if attributes.get(each)), "default_float")
    return attributes[given]


_DEFAULTS = {"O": "_Unused", "f": -0.0, "i": -1}


def _dtype_of_values(attributes: Mapping[str, Any]) -> Any:
    if attributes.get("values_tensor") is not None:
        return np.asarray(attributes["values_tensor"]).dtype
    return np.int64 if attributes.get("values_int64s") else np.float32


@evaluates("Scaler", 1, domain=ML)
def scaler(x: np.ndarray, *, scale: Sequence[float], offset: Sequence[float]) -> np.ndarray:
    """(x - offset) * scale, in float32."""
    given = x.astype(np.float32)
    return (given - np.array(offset, np.float32)) * np.array(scale, np.float32)


@evaluates("FeatureVectorizer", 1, domain=ML)
def feature_vectorizer(
    *operands: np.ndarray, inputdimensions: Sequence[int] | None = None
) -> np.ndarray:
    """The operands side by side in float32, each cut or zero-padded to its width."""
    widths = inputdimensions or [x.shape[-1] for x in operands]
    parts = []
    for x, width in zip(operands, widths, strict=True):
        given = (x if x.ndim > 1 else x[None])[:, :width].astype(np.float32)
        parts.append(np.pad(given, ((0, 0), (0, width - given.shape[1]))))
    return np.concatenate(parts, axis=1)


@evaluates("Normalizer", 1, domain=ML)
def normalizer(x: np.ndarray, *, norm: str) -> np.ndarray:
    """Rows divided by their largest element, L1 norm or L2 norm, in float32."""
    given = x.astype(np.float32)
    size = {
        "MAX": given.max(axis=-1, keepdims=True),
        "L1": np.abs(given).sum(axis=-1, keepdims=True),
        "L2": np.sqrt(np.square(given).sum(axis=-1, keepdims=True)),
    }[norm]
    return np.where(size == 0, given, given / size)


@evaluates("ZipMap", 1, domain=ML)
def zip_map(
    x: np.ndarray,
    *,
    classlabels_int64s: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
) -> list[dict[Any, float]]:
    """One map from label to score for each row."""
    labels = classlabels_strings or classlabels_int64s or ()
    return [dict(zip(labels, row, strict=True)) for row in x.reshape(-1, x.shape[-1]).tolist()]


@evaluates("CastMap", 1, domain=ML)
def cast_map(x: Mapping[int, Any], *, cast_to: str, map_form: str, max_map: int) -> np.ndarray:
    """The values of a map in key order, or each at its key's index in a row of `max_map`.

    The schema leaves open how a number is written as text and what a missing key becomes: six
    decimals and "0.f", as in onnxruntime.
    """
    as_text = cast_to == "TO_STRING"
    values = dict(sorted(x.items()))
    if map_form == "SPARSE":
        missing = "0.f" if as_text else 0
        values = {index: values.get(index, missing) for index in range(max_map)}
    row = list(values.values())
    if as_text:
        written = [each if isinstance(each, str) else f"{each:.6f}" for each in row]
        return texts(written, [1, len(row)])
    return np.array(row).astype(_NUMBERS[cast_to]).reshape(1, -1)


@evaluates("DictVectorizer", 1, domain=ML)
def dict_vectorizer(
    x: Mapping[Any, Any],
    *,
    int64_vocabulary: Sequence[int] = (),
    string_vocabulary: Sequence[str] = (),
) -> np.ndarray:
    """The values of a map in vocabulary order; zero or "" for a missing key.

    The schema says one axis, onnxruntime returns two: this kernel follows onnxruntime.
    """
    words = string_vocabulary or int64_vocabulary
    if any(isinstance(each, str) for each in x.values()):
        return texts([x.get(word, "") for word in words], [1, len(words)])
    dtype = np.result_type(*x.values()) if x else np.dtype(np.float32)
    return np.array([[x.get(word, 0) for word in words]], dtype)
