"""The cases of the sweep: onnx's node cases with other types, values and extents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, helper

from tests.ops.node_suite import control_flow, given, node_cases
from tools.sweep.edges import DTYPES, edges, filled
from treadle import ops

Key = tuple[str, str]
UNASKED = (
    "Attention", "BatchNormalization", "Bernoulli", "BlackmanWindow", "Cast", "CastLike",
    "ConstantOfShape", "DFT", "Dropout", "HammingWindow", "HannWindow", "MelWeightMatrix", "Range",
    "ImageDecoder", "Multinomial", "NonMaxSuppression", "RandomNormal",
    "RandomNormalLike", "RandomUniform", "RandomUniformLike", "STFT", "Upsample",
)  # fmt: skip
"""Random ones, those of which the standard leaves results open, and slow ones with suites."""

_EXTENTS = (1, 2, 17)
_SIZED = 4096


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
        return _cases(self.op, self.dtype, self.inputs, data)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes as Python values."""
        made = NodeProto.FromString(self.node)
        return {a.name: helper.get_attribute_value(a) for a in made.attribute}


@cache
def seeds() -> Mapping[Key, list[tuple[NodeProto, list[np.ndarray]]]]:
    """Nodes over tensors, by operator, forms that differ in attributes or ranks."""
    found: dict[Key, dict[object, tuple[NodeProto, list[np.ndarray]]]] = {}
    for case in node_cases():
        if control_flow(case.model) or len(case.model.graph.node) != 1 or not case.data_sets:
            continue
        node, inputs = case.model.graph.node[0], [given(v) for v in case.data_sets[0][0]]
        is_plain = all(isinstance(v, np.ndarray) and v.dtype != object for v in inputs)
        if not is_plain or not inputs or sum(v.size for v in inputs) > _SIZED:
            continue
        form = (tuple(a.SerializeToString() for a in node.attribute), len(node.input))
        key = (ops.canonical(node.domain), node.op_type)
        found.setdefault(key, {}).setdefault(form, (node, inputs))
    return {key: list(forms.values()) for key, forms in found.items()}


def questions(key: Key) -> Iterator[Question]:
    """Everything that is asked of an operator, the newest version first."""
    if key[1] in UNASKED:
        return
    history = [s for s in onnx.defs.get_all_schemas_with_history() if (s.domain, s.name) == key]
    newest = max((s.since_version for s in history if _has_kernel(s)), default=0)
    for schema in sorted(history, key=lambda s: -s.since_version):
        if not schema.deprecated:
            for node, inputs in seeds()[key]:
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


def _word(dtype: str) -> str:
    return {"float32": "float", "float64": "double"}.get(dtype, dtype)


def _cases(
    op: str, dtype: str, inputs: Sequence[np.ndarray], data: list[int]
) -> Iterator[tuple[str, list[np.ndarray]]]:
    shapes = [[inputs[k].shape for k in data]]
    if len(set(shapes[0])) == 1 and shapes[0][0]:
        rank = len(shapes[0][0])
        shapes += [[(extent,) * rank] * len(data) for extent in _EXTENTS if extent**rank < _SIZED]
        shapes += [[(0, *(2,) * (rank - 1))] * len(data)]
    for edge, values in edges(dtype).items():
        for sizes in shapes:
            made = list(inputs)
            for turn, (k, size) in enumerate(zip(data, sizes, strict=True)):
                made[k] = _defined(op, turn, filled(values, size, turn))
            yield edge, made


def _defined(op: str, turn: int, array: np.ndarray) -> np.ndarray:
    """Without what the standard leaves open: divisors of 0 and shifts out of the type."""
    if array.dtype.kind not in "iu" or not turn:
        return array
    if op in ("Div", "Mod"):
        return np.where((array == 0) | (array == -1 if array.dtype.kind == "i" else False),
                        np.array(3, array.dtype), array)  # fmt: skip
    if op == "BitShift":
        return array % np.array(8, array.dtype)
    return np.abs(array) % np.array(5, array.dtype) if op == "Pow" else array
