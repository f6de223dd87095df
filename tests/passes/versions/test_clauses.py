"""Every obstacle of a conversion names what the schema of the wanted opset leaves out."""

from __future__ import annotations

import pytest

import treadle
from treadle.errors import Unsupported

MODEL = """<ir_version: 10, opset_import: ["" : 25]>
g (float[4] x, string[2] s, float f, uint8 zero) => ({out}) {{
  {steps}
}}"""
CLAUSES = {
    "first version": (
        "string[2] y",
        "y = StringConcat (s, s)",
        10,
        "StringConcat-20 is the first version",
    ),
    "input": (
        "y",
        "t = Constant <value = bool {1}> () y = Dropout (x, f, t)",
        11,
        "Dropout-10 has no inputs ratio, training_mode",
    ),
    "attribute": (
        "uint8[4] y",
        "y = QuantizeLinear <precision = 10> (x, f, zero)",
        21,
        "QuantizeLinear-21 has no attribute precision",
    ),
    "element type": (
        "float8e4m3fn[4] y",
        "y = Cast <to = 17> (x)",
        18,
        "Cast-13 does not take tensor(float8e4m3fn)",
    ),
}


@pytest.mark.parametrize("name", CLAUSES)
def test_obstacles_have_clauses(name):
    out, steps, opset, wanted = CLAUSES[name]
    with pytest.raises(Unsupported) as caught:
        treadle.convert_version(MODEL.format(out=out, steps=steps), opset)
    (found,) = caught.value.findings
    told, place = found.clause.split(" (onnx, docs/Changelog.md#")
    assert told == wanted
    assert place == f"{wanted.split()[0]})"
