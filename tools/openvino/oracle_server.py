"""The process that runs OpenVINO and may crash; no test imports it.

Reads pickled requests from stdin and writes pickled answers to stdout, one for one, until stdin
ends. What OpenVINO prints goes to stderr. A request is a dict:

    model     path of an .xml, or of an .onnx, which openvino.convert_model reads
    feeds     dicts of arrays by name, one for each run
    keep      whether one compiled model and its variables last for all runs; else each run has its
              own: a loop that ran no iteration may give the rows of the run before

An answer is a list with a dict of arrays by name, or OpenVINO's error as text, for each run.
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import openvino

CONFIG = {"INFERENCE_PRECISION_HINT": "f32"}
"""On processors that have bf16 the default is bf16; the number of threads is never said."""


def _read(path: str) -> Any:
    if Path(path).suffix == ".onnx":
        return openvino.convert_model(path)
    return openvino.Core().read_model(path)


def _names(ports: list[Any]) -> list[list[str]]:
    return [sorted(port.get_names()) for port in ports]


def _request(model: Any) -> Any:
    return openvino.Core().compile_model(model, "CPU", CONFIG).create_infer_request()


def _outputs(model: Any, tensors: list[np.ndarray]) -> dict[str, np.ndarray]:
    made: dict[str, np.ndarray] = {}
    for result, array in zip(model.get_results(), tensors, strict=True):
        names = [*sorted(result.input_value(0).get_names()), result.get_friendly_name()]
        made |= dict.fromkeys(names, array)
    return made


def _run(request: Any, model: Any, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    for place, param in enumerate(model.get_parameters()):
        names = [*param.output(0).get_names(), param.get_friendly_name()]
        given = next((feed[name] for name in names if name in feed), None)
        if given is None:
            raise ValueError(f"nothing is fed to {names}, only {sorted(feed)}")
        request.set_input_tensor(place, openvino.Tensor(np.array(given)))
    request.infer()
    count = len(model.get_results())
    return _outputs(model, [request.get_output_tensor(k).data.copy() for k in range(count)])


def answer(asked: dict[str, Any]) -> list[dict[str, np.ndarray] | str]:
    """The outputs of every run."""
    model, request, made = None, None, []
    for feed in asked["feeds"]:
        try:
            if model is None:
                model = _read(asked["model"])
            if request is None or not asked.get("keep"):
                request = _request(model)
            made.append(_run(request, model, feed))
        except Exception as error:  # noqa: BLE001 - whatever OpenVINO refuses is its answer
            made.append(" ".join(str(error).split()) or type(error).__name__)
    return made


def main() -> None:
    """Answer until stdin ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    pickle.dump(openvino.__version__, answers)
    answers.flush()
    while True:
        try:
            asked = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(answer(asked), answers)
        answers.flush()


if __name__ == "__main__":
    main()
