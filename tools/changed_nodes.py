"""The changed nodes of `tools.type_rules`, run on the default engines and on interp.

    python -m tools.changed_nodes [--every 10] [--only Pad Resize]

An answer of the default engines that is not interp's is printed, and so is an error where interp
answers; a child process that dies or is silent for too long is, too. Flags are tried as 0 and 1
alone, since the standard gives others no meaning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import onnx
from onnx import numpy_helper

import treadle
from tests.ops.node_suite import node_cases
from tests.values import differences
from tools.fatal_models import Trial, run
from tools.type_rules import models
from treadle import TreadleError

_RANDOM = ("Bernoulli", "Dropout", "Multinomial", "RandomNormalLike", "RandomUniformLike")
_BYTES = 10 << 30
_EXTENT = 64
_Feeds = dict[str, object]


def main() -> None:
    """Compare on all models, or every Nth, and list the differences."""
    data = {case.name: case.data_sets[0][0] for case in node_cases() if case.data_sets}
    tried = partial(_tried, data)
    run(Trial("tools.changed_nodes", __doc__ or "", _models, tried, most=_BYTES))


def _models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """The models without random results."""
    for name, model in models():
        if name.partition("-")[0] not in _RANDOM:
            yield name, model


def _tried(data: Mapping[str, list[object]], name: str, model: onnx.ModelProto) -> str:
    feeds = _feeds(model, data.get(name.rpartition(" ")[2], []))
    return _difference(model, feeds) if feeds is not None else ""


def _feeds(model: onnx.ModelProto, data: list[object]) -> _Feeds | None:
    """The case's data, in the changed types; None where there is no data for them."""
    given = {tensor.name for tensor in model.graph.initializer}
    feeds: _Feeds = {}
    if len(data) != len(model.graph.input):
        return None
    for value, item in zip(model.graph.input, data, strict=True):
        if value.name not in given:
            array = numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item
            kept = isinstance(array, np.ndarray) and value.type.HasField("tensor_type")
            feeds[value.name] = _retyped(array, value.type.tensor_type) if kept else array
            if feeds[value.name] is None:
                return None
    return feeds


def _retyped(array: np.ndarray, type_: onnx.TypeProto.Tensor) -> np.ndarray | None:
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(type_.elem_type)
    except KeyError:
        return None
    dims = [*type_.shape.dim] if type_.HasField("shape") else [None] * array.ndim
    extents = [*array.shape, *[2] * len(dims)]
    shape = tuple(
        dim.dim_value if dim and dim.HasField("dim_value") else extent
        for dim, extent in zip(dims, extents, strict=False)
    )
    if shape == array.shape and dtype == array.dtype:
        return array
    if not all(0 <= extent <= _EXTENT for extent in shape) or math.prod(shape) > 1 << 20:
        return None
    try:
        return np.resize(array.ravel() if array.size else np.zeros(1), shape).astype(dtype)
    except (TypeError, ValueError):
        return None


def _difference(model: onnx.ModelProto, feeds: Mapping[str, object]) -> str:
    wanted = _answer(model, feeds, ("interp",))
    if isinstance(wanted, str):
        return ""
    found = _answer(model, feeds, None)
    if isinstance(found, str):
        return f"{found} for {[getattr(value, 'shape', value) for value in wanted]}"
    unlike = [text for pair in zip(found, wanted, strict=True) for text in differences(*pair)]
    return unlike[0] if unlike else ""


def _answer(
    model: onnx.ModelProto, feeds: Mapping[str, object], engines: tuple[str, ...] | None
) -> list[object] | str:
    """The outputs, or the error's name and text."""
    chosen = {} if engines is None else {"engines": engines}
    try:
        session = treadle.InferenceSession(model.SerializeToString(), **chosen)
        return session.run(None, dict(feeds))
    except (TreadleError, MemoryError) as error:
        return f"{type(error).__name__} ({str(error)[:200]})"


if __name__ == "__main__":
    main()
