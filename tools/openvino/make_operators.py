"""Writes operators.npz: one layer of every kind, with OpenVINO's outputs. Needs openvino.

    python -m tools.openvino.make_operators tests/formats/openvino/data/operators.npz

Each case is kept under its name: the .xml, the .bin, the inputs and the outputs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset1

from tools.openvino.recorded import (
    boxes,
    elementwise,
    forms,
    layout,
    networks,
    recurrent,
    reduce,
    slicing,
    versions,
)
from tools.openvino.recorded.case import CASES

FAMILIES = (elementwise, layout, slicing, reduce, networks, recurrent, forms, boxes, versions)


def answer(
    core: Any, make: Callable[..., Any], inputs: list[np.ndarray], folder: Path
) -> dict[str, Any]:
    """OpenVINO's outputs for one layer, beside the IR and the inputs."""
    params = [opset1.parameter(list(x.shape), x.dtype, name=f"x{k}") for k, x in enumerate(inputs)]
    for k, param in enumerate(params):
        param.output(0).get_tensor().set_names({f"x{k}"})
    node = make(*params)
    for k, output in enumerate(node.outputs()):
        output.get_tensor().set_names({f"y{k}"})
    model = ov.Model(node.outputs(), params, "single")
    ov.save_model(model, folder / "m.xml", compress_to_fp16=False)
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = compiled({f"x{k}": x for k, x in enumerate(inputs)})
    kept: dict[str, Any] = {"xml": np.array((folder / "m.xml").read_text())}
    kept["bin"] = np.frombuffer((folder / "m.bin").read_bytes(), np.uint8)
    kept |= {f"in__x{k}": x for k, x in enumerate(inputs)}
    kept |= {f"out__y{k}": results[k].copy() for k in range(len(node.outputs()))}
    return kept


def main(target: str) -> None:
    """Write the answers of all cases into an .npz file, and print those that OpenVINO refuses."""
    for family in FAMILIES:
        family.enter()
    core, everything, failed = ov.Core(), {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, inputs) in CASES.items():
            try:
                kept = answer(core, make, inputs, Path(folder))
            except Exception as error:  # noqa: BLE001 - the oracle's own refusals are listed
                failed.append((name, str(error).strip().splitlines()[-1][:150]))
                continue
            everything |= {f"{name}/{key}": value for key, value in kept.items()}
    np.savez_compressed(target, **everything)
    print(f"{len(CASES) - len(failed)} of {len(CASES)} cases", *failed, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
