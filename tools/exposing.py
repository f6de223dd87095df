"""Compares exposed models with the events of interp: every model of a folder, on every engine.

    python -m tools.exposing FOLDER [--only NAME] [--capacity N] [--values SELECTOR]

FOLDER has models `NAME.onnx` beside `NAME.npz` with their inputs as `in:NAME`, or cases as .json
files like those of tests/conformance/data/control_flow. Each model is exposed, checked by onnx's
checker, and run in onnxruntime, on native code, on interp and in OpenVINO; every exposed output is
compared with the events of a run of the model itself on interp. A party that answers the model
itself wrongly, or not at all, is left out of that model. OpenVINO's CPU plugin computes float64 in
float32 (measured, 2026.4.1: 1 + 1e-9 is 1), so its float64 values are compared as float32.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import treadle
from tests.conformance.data import case_of
from treadle import formats, passes
from treadle.errors import TreadleError, Unsupported
from treadle.ir import Call, Function, Leaf, Model, Optional, Sequence
from treadle.passes import Exposure, Form, Target
from treadle.report import compare
from treadle.tracing import BranchTaken, LoopEnded, Selector, ValueMade

Feeds = Mapping[str, Any]
Party = Callable[[Path, Feeds], dict[str, Any]]


def cases(folder: Path) -> Iterator[tuple[str, object, Feeds]]:
    """The models of a folder: name, source, feeds."""
    for path in sorted(folder.glob("*.onnx")):
        with np.load(path.with_suffix(".npz"), allow_pickle=False) as data:
            feeds = {key[3:]: data[key] for key in data.files if key.startswith("in:")}
        feeds = {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in feeds.items()}
        yield path.stem, str(path), feeds
    for path in sorted(folder.glob("*.json")):
        case = case_of(path)
        try:
            inputs = treadle.InferenceSession(case.source, engines=["interp"]).get_inputs()
        except TreadleError:
            continue
        names = [each.name for each in inputs]
        yield path.stem, case.source, dict(zip(names, case.inputs, strict=False))


def heard(model: Model, feeds: Feeds) -> dict[str, list[tuple[tuple[int, ...], Any]]]:
    """Every value of every iteration on interp, and what loops and branches did, by output name."""
    found: dict[str, list[tuple[tuple[int, ...], Any]]] = {}

    def hear(event: object) -> None:
        match event:
            case ValueMade(path, iterations, name, value):
                found.setdefault(f"{path}/{name}", []).append((iterations, value))
            case LoopEnded(path, iterations, trips, by):
                found.setdefault(f"{path}@trips", []).append((iterations, np.array(trips)))
                ended = np.array(by == "condition")
                found.setdefault(f"{path}@ended", []).append((iterations, ended))
            case BranchTaken(path, iterations, taken):
                is_then = np.array(taken == "then_branch")
                found.setdefault(f"{path}@taken", []).append((iterations, is_then))

    treadle.InferenceSession(model, engines=["interp"]).run(None, feeds, listener=hear)
    return found


def wanted(
    target: Target, names: Mapping[str, str], events: list[tuple[tuple[int, ...], Any]]
) -> dict[str, Any]:
    """What the outputs of a target must be, by the rules of exposing."""
    if isinstance(target.type, Optional):
        events = [(at, value) for at, value in events if value is not None]
    if target.form is Form.TENSOR:
        return {names["values"]: _stacked(target, events)}
    at = np.array([at for at, _ in events], np.int64).reshape(len(events), target.depth)
    values = [value for _, value in events]
    inner = target.type.element if isinstance(target.type, Optional) else target.type
    if isinstance(inner, Sequence):
        lengths = np.array([len(value) for value in values], np.int64)
        flat = [item for value in values for item in value]
        return {names["values"]: flat, names["at"]: at, names["lengths"]: lengths}
    if target.form is Form.PADDED:
        return {names["count"]: np.array(len(values)), names["at"]: at, names["values"]: values}
    return {names["values"]: values, names["at"]: at}


def _stacked(target: Target, events: list[tuple[tuple[int, ...], Any]]) -> Any:
    if target.depth == 0:
        return events[0][1]
    if not events:
        return None
    extents = [max(at[k] for at, _ in events) + 1 for k in range(target.depth)]
    first = np.asarray(events[0][1])
    return np.stack([value for _, value in events]).reshape(*extents, *first.shape)


def differences(
    exposure: Exposure, events: Mapping[str, Any], outputs: Feeds, *, in_float32: bool = False
) -> list[str]:
    """What is wrong with the outputs of a party, in words.

    With `in_float32` the party computes float64 in float32, and is held to that.
    """
    found: list[str] = []
    for target, names in exposure.names.items():
        right = wanted(target, names, events.get(target.output, []))
        for name, value in right.items():
            got = outputs[name]
            if value is None:  # no iteration: only that there is none can be compared
                found += [] if 0 in np.shape(got) else [f"{name}: {np.shape(got)} of none"]
                continue
            if target.form is Form.PADDED:
                got, value = _cut(got, value)
            if in_float32:
                got, value = _as_float32(got), _as_float32(value)
            found += [f"{d.name}: {d.message}" for d in compare({name: got}, {name: value})]
    return found


def _as_float32(value: Any) -> Any:
    is_double = isinstance(value, np.ndarray | np.generic) and value.dtype == np.float64
    return np.asarray(value, np.float32) if is_double else value


def _cut(got: np.ndarray, value: Any) -> tuple[Any, Any]:
    value = np.stack(value) if isinstance(value, list) and value else np.asarray(value)
    return (got, value) if not value.ndim else (got[: len(value)], value[: len(got)])


def _onnxruntime(path: Path, feeds: Feeds) -> dict[str, Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, dict(feeds)), strict=True))


def _engine(*engines: str) -> Party:
    def run(path: Path, feeds: Feeds) -> dict[str, Any]:
        session = treadle.InferenceSession(str(path), engines=list(engines))
        names = [each.name for each in session.get_outputs()]
        return dict(zip(names, session.run(None, feeds), strict=True))

    return run


def _openvino(path: Path, feeds: Feeds) -> dict[str, Any]:
    import openvino

    written = path.with_suffix(".xml")
    treadle.save(str(path), written)
    names = [each.name for each in treadle.InferenceSession(str(path)).get_outputs()]
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(str(written), "CPU", exact)
    request = compiled.create_infer_request()
    request.infer({name: np.asarray(value) for name, value in feeds.items()})
    return {name: request.get_output_tensor(k).data.copy() for k, name in enumerate(names)}


PARTIES: Mapping[str, Party] = {
    "onnxruntime": _onnxruntime,
    "native": _engine("jit", "onnxruntime", "interp"),
    "interp": _engine("interp"),
    "openvino": _openvino,
}


def look(
    name: str, source: object, feeds: Feeds, values: str, capacity: int | None, parties: list[str]
) -> Iterator[tuple[str, str]]:
    """What each party does with the exposed model: (party, "ok" or what is wrong)."""
    model = treadle.load(source)
    try:
        plain = treadle.InferenceSession(model, engines=["interp"])
        outputs = plain.run(None, feeds)
    except TreadleError as error:
        yield "model", f"does not run: {str(error)[:120]}"
        return
    right = dict(zip([each.name for each in plain.get_outputs()], outputs, strict=True))
    exposure = _exposed(model, Selector.of(values), capacity)
    for each in exposure.refused:
        yield "refused", f"{each.name}: {each.reason}"
    yield "targets", str(len(exposure.names))
    events = heard(model, feeds)
    with tempfile.TemporaryDirectory() as folder:
        original, path = Path(folder) / "model.onnx", Path(folder) / "exposed.onnx"
        treadle.save(model, original)
        fault = _fault(original)
        treadle.save(exposure.model, path)
        if _fault(path):
            yield "checker", "rejects the model itself" if fault else _fault(path)
            if not fault:
                return
        for party in parties:
            try:
                if compare(PARTIES[party](original, feeds), right):
                    yield party, "answers the model itself wrongly"
                    continue
            except Exception as error:  # noqa: BLE001  border: runtimes raise anything
                yield party, f"does not run the model itself: {str(error)[:80]!r}"
                continue
            given = exposure
            if party == "openvino":
                given, path = _without_sequences(model, exposure, capacity, Path(folder))
            yield party, _verdict(party, path, feeds, given, events, right)


def _fault(path: Path) -> str:
    """What onnx's checker says against a file; "" where it is fine."""
    import onnx

    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:  # noqa: BLE001  border: onnx raises anything
        return " ".join(str(error).split())[:300] or type(error).__name__
    return ""


def _exposed(model: Model, selector: Selector, capacity: int | None) -> Exposure:
    def expand(step: Leaf | Call, types: Any) -> Function | None:
        return formats.schema_function(step, types, model.opsets)

    return passes.expose(model, selector, expand, capacity)


def _without_sequences(
    model: Model, exposure: Exposure, capacity: int | None, folder: Path
) -> tuple[Exposure, Path]:
    """The same without what needs sequences, which OpenVINO has not."""
    tensors = [t for t in exposure.names if t.form is not Form.SEQUENCE]
    kept = [t.output for t in tensors if not isinstance(t.type, Sequence)]
    given = _exposed(model, Selector.of(kept), capacity) if kept else exposure
    treadle.save(given.model, folder / "tensors.onnx")
    return given, folder / "tensors.onnx"


def _verdict(
    party: str, path: Path, feeds: Feeds, exposure: Exposure, events: Feeds, right: Feeds
) -> str:
    try:
        outputs = PARTIES[party](path, feeds)
    except Unsupported as error:
        return f"refused: {str(error)[:100]}"
    except Exception as error:  # noqa: BLE001  border: runtimes raise anything
        return f"FAILS: {' '.join(str(error).split())[:300]}"
    wrong = [f"{d.name}: {d.message}" for d in compare(outputs, right)]
    wrong += differences(exposure, events, outputs, in_float32=party == "openvino")
    return f"WRONG: {len(wrong)} outputs; {wrong[0]}" if wrong else "ok"


def main() -> int:
    """Look at every model; 1 where a party is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--values", default="*")
    parser.add_argument("--capacity", type=int)
    parser.add_argument("--parties", default=",".join(PARTIES))
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    for name, source, feeds in cases(given.folder):
        if given.only not in name:
            continue
        try:
            looked = list(
                look(name, source, feeds, given.values, given.capacity, given.parties.split(","))
            )
        except Exception as error:  # noqa: BLE001  reported, and counted as a failure
            looked = [("expose", f"FAILS: {type(error).__name__}: {error}"[:300])]
        for party, verdict in looked:
            if party == "targets":
                counts["targets"] += int(verdict)
                continue
            word = verdict.split(":")[0] if ":" in verdict else verdict
            counts[f"{party} {word[:40]}"] += 1
            if verdict != "ok":
                print(f"{name}: {party}: {verdict}", flush=True)
    print(dict(counts))
    return int(any("WRONG" in key or "FAILS" in key for key in counts))


if __name__ == "__main__":
    sys.exit(main())
