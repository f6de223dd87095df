"""The engines of the sweep: onnxruntime in a child process, interp, native code."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, helper

from tests.jit.leaves import natively
from tests.ops.node_suite import leaf_of
from tools.sweep.questions import Question
from treadle import ops
from treadle.delegate.ort_value_io import OrtValueCall
from treadle.errors import TreadleError
from treadle.jit.kernel.declined import Declined
from treadle.ops.elements import tensor_of_string

Answer = list[Any] | str | None
"""Results; "dies"; None where the party has no kernel or refuses the operands."""

_SECONDS = 20.0
_AS_BYTES = ("bfloat16", "float8", "int4")
"""Element types that onnxruntime's Python functions take only as bytes."""


def model_of(question: Question, operands: Sequence[np.ndarray]) -> Any:
    """The question as a model of one node, without shapes."""
    node = NodeProto.FromString(question.node)
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(each.dtype), [None] * each.ndim
        )
        for name, each in zip(node.input, operands, strict=True)
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    imports = [helper.make_opsetid(question.domain, question.version)]
    if question.domain:
        imports.append(helper.make_opsetid("", 15))
    graph = helper.make_graph([node], "sweep", inputs, outputs)
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def serve(pipe: Connection) -> None:
    """The child: a model and operands come, results of onnxruntime go back, or None."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions: dict[bytes, Callable[..., Any]] = {}
    while True:
        try:
            data, feed = pipe.recv()
        except EOFError:
            return
        try:
            if data not in sessions:
                sessions.clear()
                sessions[data] = _runner(data, options)
            pipe.send([_plain(each) for each in sessions[data](feed)])
        except Exception:  # noqa: BLE001 - its exceptions have no base in common
            sessions.pop(data, None)
            pipe.send(None)


def _plain(result: Any) -> Any:
    return [*map(_plain, result)] if isinstance(result, list) else np.asarray(result)


def _runner(data: bytes, options: Any) -> Callable[[Mapping[str, np.ndarray]], list[Any]]:
    """A session's run; short floats come and go as the bytes they are."""
    import onnxruntime

    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    ends = (*session.get_inputs(), *session.get_outputs())
    if not any(short in end.type for end in ends for short in _AS_BYTES):
        return partial(session.run, None)
    names = [end.name for end in session.get_outputs()]
    given = tuple(tensor_of_string(end.type).dtype for end in session.get_outputs())
    call = OrtValueCall(session._sess, given)
    return lambda feed: call(names, feed, None)


class Child:
    """onnxruntime in a process of its own, started anew when it has died or hangs."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def __call__(self, question: Question, operands: Sequence[np.ndarray]) -> Answer:
        """What onnxruntime says."""
        node = NodeProto.FromString(question.node)
        feed = dict(zip(node.input, operands, strict=True))
        try:
            self._pipe.send((model_of(question, operands).SerializeToString(), feed))
            if self._pipe.poll(_SECONDS):
                found: Answer = self._pipe.recv()
                return found
        except (EOFError, OSError):
            pass
        self.end()
        self._start()
        return "dies"

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def interp(question: Question, operands: Sequence[np.ndarray]) -> Answer:
    """What our numpy kernel says."""
    try:
        found = ops.bind_kernel(_leaf(question))(list(operands))
        names = NodeProto.FromString(question.node).output
        return [each for each, name in zip(found, names, strict=False) if name]
    except (TreadleError, MemoryError):
        return None


def native(question: Question, operands: Sequence[np.ndarray]) -> Answer:
    """What native code says; of the newest version, with the extents of the standard's case.

    None also where it calls the host, which is interp's kernel.
    """
    if not question.is_newest or operands[0].shape != question.inputs[0].shape:
        return None
    if _gives_sequences(question):
        return None
    try:
        found, is_own = natively(_leaf(question), list(operands), question.fixed)
    except Declined:
        return None
    except Exception:  # noqa: BLE001 - operands that nobody has checked before
        return None
    return found if is_own else None


def _gives_sequences(question: Question) -> bool:
    """Whether a result is a sequence: native code boxes it, and only a session unboxes it."""
    schema = onnx.defs.get_schema(question.op, question.version, question.domain)
    return any(all(t.startswith("seq") for t in each.types) for each in schema.outputs)


def _leaf(question: Question) -> Any:
    opsets = {question.domain: question.version}
    return leaf_of(NodeProto.FromString(question.node), opsets)


Party = Callable[[Question, Sequence[np.ndarray]], Answer]
