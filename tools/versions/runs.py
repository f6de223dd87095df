"""Converts one model to one opset with one tool, then loads, runs and compares it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"

import numpy as np
import onnx
import onnxruntime

import treadle
from tests.values import TOLERANCES, differences
from tools.versions.cases import Case
from treadle.errors import TreadleError, Unsupported
from treadle.formats.onnx import to_bytes
from treadle.ir import DType

onnxruntime.set_default_logger_severity(4)
_NARROW = {"bfloat16", "float8", "int4", "uint4", "float4", "int2", "uint2", "float6"}
_TOLERANCES = dict(TOLERANCES) | {
    DType.FLOAT32: (1e-4, 1e-5),
    DType.FLOAT16: (4e-3, 4e-3),
    DType.FLOAT64: (1e-7, 1e-7),
}


def by_treadle(model: onnx.ModelProto, opset: int) -> bytes:
    """Treadle's conversion."""
    return to_bytes(treadle.convert_version(model, opset))


def by_onnx(model: onnx.ModelProto, opset: int) -> bytes:
    """Onnx's own version converter."""
    from onnx import version_converter

    return bytes(version_converter.convert_version(model, opset).SerializeToString())


def by_onnxscript(model: onnx.ModelProto, opset: int) -> bytes:
    """Onnxscript's converter, which falls back on onnx's."""
    import onnx_ir
    from onnxscript import version_converter

    whole = onnx_ir.from_proto(model)
    version_converter.convert_version(whole, opset, fallback=True)
    return bytes(onnx_ir.to_proto(whole).SerializeToString())


PARTIES: dict[str, Callable[[onnx.ModelProto, int], bytes]] = {
    "treadle": by_treadle,
    "onnx": by_onnx,
    "onnxscript": by_onnxscript,
}


def onnxruntime_answer(model: bytes, case: Case) -> list[Any]:
    """The outputs of onnxruntime; raises what it raises."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    fed = dict(zip(names, case.inputs, strict=False))
    return list(session.run(None, {k: v for k, v in fed.items() if v is not None}))


def interp_answer(model: bytes, case: Case) -> list[Any]:
    """The outputs of treadle's interpreter."""
    session = treadle.InferenceSession(model, engines=["interp"])
    names = [each.name for each in session.get_inputs()]
    return list(session.run(None, dict(zip(names, case.inputs, strict=False))))


class Outcome(NamedTuple):
    """What became of a conversion: a word, why, and the obstacles with their clauses."""

    kind: str
    why: str = ""
    obstacles: Sequence[tuple[str, str]] = ()


def attempt(who: str, case: Case, opset: int, wanted: Sequence[list[Any]]) -> Outcome:
    """What became of it.

    same        loads in onnxruntime and gives one of the answers wanted; so does interp
    refused     the party says that it cannot
    differs     an answer is another one
    unloadable  onnxruntime does not load it: no kernel for an operator's type at this version
    invalid     onnx's checker or onnxruntime refuses it
    fails       it loads and then fails
    """
    try:
        made = PARTIES[who](case.model, opset)
    except Unsupported as refusal:
        found = [(each.message, each.clause) for each in refusal.findings]
        return Outcome("refused", str(refusal).replace("\n", " | "), found)
    except TreadleError as error:
        return Outcome("crashed", f"{type(error).__name__}: {error}"[:500])
    except Exception as error:  # noqa: BLE001  peers raise anything
        kind = "refused" if who != "treadle" else "crashed"
        return Outcome(kind, f"{type(error).__name__}: {error}"[:500].replace("\n", " "))
    if _opset(made) != opset:
        return Outcome("refused", f"the opset is still {_opset(made)}")
    return _answers(who, made, case, wanted)


def _opset(model: bytes) -> int:
    imports = onnx.ModelProto.FromString(model).opset_import
    return next((each.version for each in imports if each.domain in ("", "ai.onnx")), 0)


def _answers(who: str, made: bytes, case: Case, wanted: Sequence[list[Any]]) -> Outcome:
    problem = _checked(made)
    if problem and not _checked(case.model.SerializeToString()):
        return Outcome("invalid", problem)
    try:
        found = onnxruntime_answer(made, case)
    except Exception as error:  # noqa: BLE001  onnxruntime raises anything
        return Outcome(_kind(str(error)), str(error)[:400])
    problem = differs(found, wanted)
    if problem:
        return Outcome("differs", f"onnxruntime: {problem}")
    if who == "treadle":
        try:
            problem = differs(interp_answer(made, case), wanted)
        except TreadleError as error:
            return Outcome("fails", f"interp: {error}"[:400])
    return Outcome("differs", f"interp: {problem}") if problem else Outcome("same")


def _checked(model: bytes) -> str:
    try:
        onnx.checker.check_model(model)
    except Exception as error:  # noqa: BLE001  the checker raises anything
        return str(error)[:400]
    return ""


def _kind(message: str) -> str:
    if "NOT_IMPLEMENTED" in message or "Could not find an implementation" in message:
        return "unloadable"
    loads = "Load model" in message or "INVALID_GRAPH" in message or "INVALID_ARGUMENT" in message
    return "invalid" if loads else "fails"


def differs(found: Sequence[Any], wanted: Sequence[list[Any]]) -> str:
    """The first difference to the answer that is nearest; "" where one is met."""
    problems = []
    for answer in wanted:
        lines = [
            line
            for f, w in zip(map(_plain, found), map(_plain, answer), strict=True)
            for line in differences(f, w, tolerances=_TOLERANCES)
        ]
        if not lines:
            return ""
        problems.append(lines[0][:300])
    return problems[0] if problems else "nothing to compare with"


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return value.astype(object)
    return value
