"""Every case of onnx's operator suite, with rows along any axis of any operand.

Where the analysis proves a batch axis, the whole batch gives what its rows give one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import treadle
from tests.backend.suite import Sample, node_samples
from tests.values import differences
from treadle import passes
from treadle.batching import Mixed, batch_axes, extents, rules

RULES = {*rules.RULES, *rules.SEVERAL, *extents.RULES}
EACH = 3
"""How many cases of an operator are taken, of those that differ in attributes, operands or rank."""
PROVEN_IN_NO_CASE = {
    "ConstantOfShape", "Shape", "Size",  # they make or take shapes
    "Reshape", "Tile",  # the cases give all rows other shapes, or repeat all axes
}  # fmt: skip


def _samples() -> dict[str, list[Sample]]:
    """Cases of each operator that has a rule: those whose attributes or operands differ."""
    found: dict[str, dict[tuple[str, ...], Sample]] = {}
    for sample in node_samples().values():
        nodes = sample.model.graph.node
        if len(nodes) == 1 and nodes[0].domain == "" and nodes[0].op_type in RULES:
            attributes = sorted(each.name for each in nodes[0].attribute)
            form = (*attributes, str(list(nodes[0].input)), str(_rank(sample)))
            found.setdefault(nodes[0].op_type, {}).setdefault(form, sample)
    ordered = {op: sorted(forms.values(), key=_rank) for op, forms in sorted(found.items())}
    return {op: samples[-EACH:] for op, samples in ordered.items()}


def _rank(sample: Sample) -> int:
    return max((a.ndim for a in _arrays(sample).values()), default=0)


def _batches(arrays: Mapping[str, np.ndarray]) -> Iterator[dict[str, int]]:
    """The axes of rows: along an axis of one operand, or along the same of all."""
    for name, array in arrays.items():
        yield from ({name: axis} for axis in range(array.ndim))
    ranks = {array.ndim for array in arrays.values()}
    for axis in range(max(ranks) if len(ranks) == 1 < len(arrays) else 0):
        if len({array.shape[axis] for array in arrays.values()}) == 1:
            yield dict.fromkeys(arrays, axis)


def _batched(
    sample: Sample, arrays: Mapping[str, np.ndarray], axes: Mapping[str, int]
) -> onnx.ModelProto:
    """The model with "N" rows along the axes; operands without rows are constants."""
    made = onnx.ModelProto()
    made.CopyFrom(sample.model)
    graph = made.graph
    inputs = [value for value in graph.input if value.name in axes]
    for value in inputs:
        value.type.tensor_type.shape.dim[axes[value.name]].dim_param = "N"
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    held = [numpy_helper.from_array(a, name) for name, a in arrays.items() if name not in axes]
    graph.initializer.extend(held)
    del graph.input[:]
    graph.input.extend(inputs)
    return made


def _arrays(sample: Sample) -> dict[str, np.ndarray]:
    names = [name for name in sample.model.graph.node[0].input if name]
    given = dict(zip(names, sample.feeds[0].inputs, strict=False))
    return {name: a for name, a in given.items() if isinstance(a, np.ndarray)}


SAMPLES = _samples()


def _several(array: np.ndarray, axis: int) -> np.ndarray:
    """The array, with a second row if it has one."""
    if array.shape[axis] > 1:
        return array
    return np.concatenate([array, np.roll(array, 1)], axis)


def _row(array: np.ndarray, axis: int, number: int) -> np.ndarray:
    return np.ascontiguousarray(np.take(array, [number], axis))


def _prove(sample: Sample, arrays: Mapping[str, np.ndarray], axes: Mapping[str, int]) -> bool:
    """Whether a batch axis of every result is proven; then rows are compared."""
    model = treadle.load(_batched(sample, arrays, axes))
    try:
        found = batch_axes(passes.prepare(model), axes)
    except Mixed:
        return False
    session = treadle.InferenceSession(model, engines=["interp"])
    feeds = {name: _several(arrays[name], axis) for name, axis in axes.items()}
    together = session.run(None, feeds)
    for number in range(2):
        alone = session.run(None, {n: _row(feeds[n], axis, number) for n, axis in axes.items()})
        _expect_row(together, alone, list(found.values()), number)
    return None not in found.values()


def _expect_row(
    together: Sequence[np.ndarray],
    alone: Sequence[np.ndarray],
    axes: Sequence[int | None],
    number: int,
) -> None:
    for whole, one, axis in zip(together, alone, axes, strict=True):
        wanted = whole if axis is None else _row(whole, axis, number)
        assert not differences(one, wanted)


@pytest.mark.parametrize("op", SAMPLES)
def test_proven_rows_run_alone_as_in_the_batch(op: str) -> None:
    proven = False
    for sample in SAMPLES[op]:
        arrays = _arrays(sample)
        for axes in _batches(arrays):
            proven |= _prove(sample, arrays, axes)
    assert proven is (op not in PROVEN_IN_NO_CASE)
