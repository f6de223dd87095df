"""The report of a model's limits: met, met after a command, or the obstacles."""

from __future__ import annotations

import treadle
from tools.target import limits, verdict

COUNTED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y) {
  n = Constant <value = int64 {3}> ()
  y = Loop (n, "", x) <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] o) {
    on = Identity (go) o = Add (s, x) }>
}"""


def told(text: str) -> dict[str, str]:
    model = treadle.load(text)
    return {limit.name: verdict(model, limit) for limit in limits(13)}


def test_a_counted_loop() -> None:
    assert told(COUNTED) == {
        "no Loop": "met after treadle unroll",
        "no control flow": "met after treadle unroll",
        "static shapes": "met",
        "no sequences": "met",
        "opset at most 13": "met after treadle convert --opset 13",
    }


def test_a_loop_of_unknown_length() -> None:
    found = told(
        COUNTED.replace("float[2] x)", "float[2] x, int64 n)").replace("n = Con", "k = Con")
    )
    assert found["no Loop"].startswith("not met: main/loop_1: the number of its iterations")
