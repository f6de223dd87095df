"""Plain onnxruntime, as the baseline of comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from treadle.delegate.options import Options
from treadle.delegate.ort_errors import translating_errors
from treadle.errors import Unsupported
from treadle.formats.onnx import to_bytes
from treadle.ir import Model

Baseline = Callable[[Mapping[str, object]], list[object]]


def baseline(model: Model | bytes, options: Options | None = None) -> Baseline:
    """A session of onnxruntime over the model's own file, or these bytes.

    Raises Unsupported if onnxruntime fails to load it. Its calls raise onnxruntime's own errors.
    """
    import onnxruntime

    made = (options or Options()).session_options()
    data = model if isinstance(model, bytes) else to_bytes(model)
    start = partial(onnxruntime.InferenceSession, data, made, ["CPUExecutionProvider"])
    session = translating_errors(start, partial(Unsupported, "the model", None))

    def run(feeds: Mapping[str, object]) -> list[object]:
        return list(session.run(None, dict(feeds)))

    return run
