"""Forms that do other work than the model they are made of: they are held against onnxruntime only.

Numbers of 64 or 16 bits in place of 32, whole numbers through floats, and loops that may end early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.form_edits import Draft, node, set_nodes
from benchmarks.form_operators import through_floats
from benchmarks.form_rules import Form

_SINGLE, _HALF, _DOUBLE = (
    onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE,
)  # fmt: skip
_TO = ("Cast", "to")
_FAR = 1e30
"""A number that no carried value reaches."""


def in_type(element: int) -> Form:
    """The form with every float of 32 bits as one of this type."""
    return lambda draft: _retyped(draft, element)


def _retyped(draft: Draft, element: int) -> bool:
    dtype = helper.tensor_dtype_to_np_dtype(element)
    floats = {name: value for name, value in draft.feed.items() if value.dtype == np.float32}
    draft.feed.update({name: value.astype(dtype) for name, value in floats.items()})
    for kind in _types(draft):
        if kind.elem_type == _SINGLE:
            kind.elem_type = element
    for tensor in _tensors(draft):
        if tensor.data_type == _SINGLE:
            made = numpy_helper.to_array(tensor).astype(dtype)
            tensor.CopyFrom(numpy_helper.from_array(made, tensor.name))
    for given in _cast_targets(draft):
        if given.i == _SINGLE:
            given.i = element
    return bool(floats)


def _cast_targets(draft: Draft) -> Iterator[onnx.AttributeProto]:
    for graph in draft.graphs():
        for each in graph.node:
            yield from (given for given in each.attribute if (each.op_type, given.name) == _TO)


def _types(draft: Draft) -> Iterator[onnx.TypeProto.Tensor]:
    for graph in draft.graphs():
        for info in [*graph.input, *graph.output, *graph.value_info]:
            kind = info.type
            while kind.HasField("sequence_type") or kind.HasField("optional_type"):
                inner = kind.sequence_type if kind.HasField("sequence_type") else kind.optional_type
                kind = inner.elem_type
            yield kind.tensor_type


def _tensors(draft: Draft) -> Iterator[onnx.TensorProto]:
    for graph in draft.graphs():
        yield from graph.initializer
        for each in graph.node:
            yield from (given.t for given in each.attribute if given.name == "value")


def ends_early(draft: Draft) -> bool:
    """A Loop that would end where its first carried array held a large number."""
    changed = False
    for graph, loop, body in draft.loops("Loop"):
        if graph is not draft.model.graph or len(body.input) < 3:
            continue
        kind = body.input[2].type.tensor_type
        if kind.elem_type != _SINGLE or not loop.input[0]:
            continue
        far = draft.constant(_FAR, "float32")
        size, most, near, on = (draft.fresh(n) for n in ("size", "most", "near", "on"))
        old = body.output[0].name
        set_nodes(body, [
            *body.node, far, node("Abs", [body.output[1].name], [size]),
            node("ReduceMax", [size], [most], keepdims=0),
            node("Less", [most, far.output[0]], [near]), node("And", [old, near], [on]),
        ])  # fmt: skip
        body.output[0].name = on
        changed = True
    return changed


OTHER_WORK: dict[str, Callable[[Draft], bool]] = {
    "in double": in_type(_DOUBLE),
    "in half": in_type(_HALF),
    "may end early": ends_early,
    "whole numbers through floats": through_floats,
}
"""The forms by name."""
EXACT = frozenset(("in double", "may end early", "whole numbers through floats"))
"""Those of which onnxruntime's answers are compared: it rounds numbers of 16 bits less often."""
