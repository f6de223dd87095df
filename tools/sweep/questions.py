"""The cases of the sweep: onnx's node cases with other types, values and extents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import NodeProto, helper

from tools.sweep.edges import DTYPES, TEXT, WHOLE, edges, filled
from tools.sweep.forms import SIZED, Key, forms
from treadle import ops

_RANDOM = "its result is random"
UNASKED = {
    **dict.fromkeys(
        ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
         "RandomUniformLike"), _RANDOM,
    ),
    **dict.fromkeys(("DFT", "STFT"), "its terms cancel: only a whole signal says how exact it is"),
    "BatchNormalization": "its variance below 0 has no root, and tests/ops has those above",
    "ImageDecoder": "its operand is the file of an image",
    "Upsample": "newer versions do not exist: Resize has its place",
}  # fmt: skip
"""Operators that are not asked about, with the reason."""

_OLDER = 8
"""The most forms of which versions before the newest are asked."""
_EXTENTS = (1, 2, 17)


@dataclass(frozen=True, eq=False)
class Question:
    """One operator, version, form and element type, with operands for every edge."""

    domain: str
    op: str
    version: int
    dtype: str
    node: bytes
    inputs: Sequence[np.ndarray]
    fixed: tuple[int, ...]
    is_newest: bool

    def cases(self) -> Iterator[tuple[str, list[np.ndarray]]]:
        """The operands for every edge and extent, made one after the other."""
        data = [k for k in range(len(self.inputs)) if k not in self.fixed]
        return _cases(self, data)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes as Python values."""
        made = NodeProto.FromString(self.node)
        return {a.name: helper.get_attribute_value(a) for a in made.attribute}


def questions(key: Key) -> Iterator[Question]:
    """Everything that is asked of an operator, the newest version first."""
    if key[1] in UNASKED:
        return
    history = [s for s in onnx.defs.get_all_schemas_with_history() if (s.domain, s.name) == key]
    newest = max((s.since_version for s in history if _has_kernel(s)), default=0)
    for schema in sorted(history, key=lambda s: -s.since_version):
        if not schema.deprecated:
            every = forms()[key]
            is_newest = schema.since_version >= newest
            for node, inputs in every if is_newest else every[:: 1 + len(every) // _OLDER]:
                yield from _of_form(schema, node, inputs, newest)


def _has_kernel(schema: Any) -> bool:
    """Whether interp can be asked, which is what the others are held against."""
    return ops.kernel(ops.canonical(schema.domain), schema.name, schema.since_version) is not None


def _of_form(
    schema: Any, node: NodeProto, inputs: list[np.ndarray], newest: int
) -> Iterator[Question]:
    names = [name for name in node.input if name]
    if len(names) != len(node.input) or len(names) > schema.max_input:
        return
    if not {a.name for a in node.attribute} <= set(schema.attributes) or len(names) != len(inputs):
        return
    variable, allowed = _first_types(schema)
    for dtype in DTYPES:
        if f"tensor({_word(dtype)})" not in allowed:
            continue
        data = [k for k in range(len(inputs)) if _formal(schema, k).type_str == variable]
        others = [k for k in range(len(inputs)) if k not in data]
        if not all(_admits(schema, k, inputs[k]) for k in others):
            return
        yield Question(
            schema.domain, schema.name, schema.since_version, dtype,
            node.SerializeToString(), inputs, tuple(others), schema.since_version == newest,
        )  # fmt: skip


def _formal(schema: Any, position: int) -> Any:
    return schema.inputs[min(position, len(schema.inputs) - 1)]


def _first_types(schema: Any) -> tuple[str, Sequence[str]]:
    return schema.inputs[0].type_str, schema.inputs[0].types


def _admits(schema: Any, position: int, array: np.ndarray) -> bool:
    return f"tensor({_word(array.dtype.name)})" in _formal(schema, position).types


_WORDS = {"float32": "float", "float64": "double", TEXT: "string"}


def _word(dtype: str) -> str:
    """The name of an element type in the types of a schema."""
    return _WORDS.get(dtype, dtype.replace("float8_", "float8"))


def _cases(question: Question, data: list[int]) -> Iterator[tuple[str, list[np.ndarray]]]:
    inputs = question.inputs
    shapes = [[inputs[k].shape for k in data]]
    if len(set(shapes[0])) == 1 and shapes[0][0]:
        rank = len(shapes[0][0])
        shapes += [[(extent,) * rank] * len(data) for extent in _EXTENTS if extent**rank < SIZED]
        shapes += [[(0, *(2,) * (rank - 1))] * len(data)]
    for edge, values in edges(question.dtype).items():
        for sizes in shapes:
            made = list(inputs)
            for turn, (k, size) in enumerate(zip(data, sizes, strict=True)):
                made[k] = _defined(question, turn, filled(values, size, turn))
            yield edge, _fitting(question, made)


def _defined(question: Question, turn: int, array: np.ndarray) -> np.ndarray:
    """Without what the standard leaves open: divisors of 0, shifts and casts out of the type."""
    op = question.op
    if op == "Cast":
        return _castable(array, question.attributes["to"])
    if op in _SIZES:
        return np.abs(array % np.array(_SIZES[op], array.dtype))
    if op == "NonMaxSuppression":
        return np.nan_to_num(array) % np.array(7, array.dtype)
    if op == "OneHot":
        return np.floor(np.abs(np.nan_to_num(array.astype(float))) % 7).astype(array.dtype)
    if op == "QuantizeLinear" and turn == 1:
        return np.where(np.isfinite(array) & (array != 0), np.abs(array), array.dtype.type(1))
    if op == "QuantizeLinear" and array.dtype.kind == "f":
        return np.where(np.isnan(array), array.dtype.type(1), array)
    if array.dtype.kind not in "iu" or not turn:
        return array
    if op in ("Div", "Mod"):
        return np.where((array == 0) | (array == -1 if array.dtype.kind == "i" else False),
                        np.array(3, array.dtype), array)  # fmt: skip
    if op == "BitShift":
        return array % np.array(8, array.dtype)
    return np.abs(array) % np.array(5, array.dtype) if op == "Pow" else array


_SIZES = {
    "ConstantOfShape": 2, "MelWeightMatrix": 31, "BlackmanWindow": 40, "HammingWindow": 40,
    "HannWindow": 40,
}  # fmt: skip
"""Operators whose operand determines the size of the result, and below which number it is."""
_STEPS = 5


def _fitting(question: Question, operands: list[np.ndarray]) -> list[np.ndarray]:
    """Operands that fit each other: a Range with few elements, filters below half the rate."""
    if question.op == "Range":
        return _few(*operands, is_whole=question.dtype in WHOLE)
    if question.op == "MelWeightMatrix":
        bins, length, rate, *ends = operands
        return [bins, length + length.dtype.type(16), np.full_like(rate, 8000), *ends]
    return operands


def _few(
    start: np.ndarray, limit: np.ndarray, step: np.ndarray, *, is_whole: bool
) -> list[np.ndarray]:
    """A start at the edge, and a limit a few steps from it, within the type."""
    dtype = start.dtype
    if not is_whole:
        first = dtype.type(start) if np.isfinite(start) else dtype.type(1)
        step = dtype.type(max(abs(first) / 8, 1)) * dtype.type(1 if first < 0 else -1)
        return [np.array(first), np.array(first + _STEPS * step - step / 2), np.array(step)]
    first, limits = int(start), ml_dtypes.iinfo(dtype)
    size = 1 + abs(int(step)) % 7 if int(step) not in (limits.min, limits.max) else limits.max // 9
    sign = 1 if first < 0 else -1
    limit = first + sign * (_STEPS * size - size // 2)
    return [np.array(n, dtype) for n in (first, limit, sign * size)]


def _castable(array: np.ndarray, to: int) -> np.ndarray:
    """Numbers that the element type can hold; text that is a number of it."""
    wanted = helper.tensor_dtype_to_np_dtype(to)
    is_whole = wanted.kind in "iu"
    if array.dtype.kind == "O" and wanted.kind != "O":
        texts = ["1", "-2" if wanted.kind != "u" else "2", "3" if is_whole else "0.5"]
        return np.resize(np.array(texts, object), array.shape)
    if not is_whole or array.dtype.kind in "iub":
        return array
    limits = np.iinfo(wanted)
    half = np.clip(np.nan_to_num(array.astype(float)), limits.min / 2, limits.max / 2)
    return half.astype(array.dtype)
