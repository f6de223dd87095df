"""onnxruntime with nothing of treadle between: what treadle is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from treadle.delegate.foreign import asked
from treadle.delegate.options import Options
from treadle.errors import Unsupported
from treadle.formats.onnx import to_bytes
from treadle.ir import Model

Alone = Callable[[Mapping[str, object]], list[object]]


def alone(model: Model, options: Options | None = None) -> Alone:
    """The model's own file in a session of onnxruntime; Unsupported where it refuses to load it.

    Its calls raise what onnxruntime raises.
    """
    import onnxruntime

    made = (options or Options()).session_options()
    start = partial(onnxruntime.InferenceSession, to_bytes(model), made, ["CPUExecutionProvider"])
    session = asked(start, partial(Unsupported, "the model", None))

    def run(feeds: Mapping[str, object]) -> list[object]:
        return list(session.run(None, dict(feeds)))

    return run
