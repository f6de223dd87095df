"""Loops in the branches of an If of the main graph are native."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD
from tests.values import assert_same
from treadle.plan import Region

SCAN = """last, all = Scan (h0, x) <num_scan_inputs = 1, body = f (float[3] h, float[3] item)
    => (float[3] next, float[3] out) {
    sum = Add (h, item)
    next = Tanh (sum)
    out = Mul (next, item)
  }>"""
PLAIN = "zero = Constant <value = float {0}> ()  none = Mul (h0, zero)  scaled = Neg (x)"
ONE_LOOP = f"""g (bool c, float[T,3] x, float[3] h0) => (float[3] r, float[T,3] rs) {{
  r, rs = If (c) <
    then_branch = then () => (float[3] last, float[T,3] all) {{ {SCAN} }},
    else_branch = other () => (float[3] none, float[T,3] scaled) {{ {PLAIN} }}
  >
}}"""
INNER = SCAN.replace("last, all", "last2, all2")
NESTED = f"""g (bool c, float[T,3] x, float[3] h0) => (float[3] r, float[T,3] rs) {{
  none = Neg (h0)
  scaled = Neg (x)
  r, rs = If (c) <
    then_branch = then () => (float[3] a, float[T,3] as) {{
      d = Not (c)
      a, as = If (d) <
        then_branch = inner () => (float[3] copy, float[T,3] copies) {{
          copy = Identity (none)
          copies = Identity (scaled)
        }},
        else_branch = loops () => (float[3] last, float[T,3] all) {{ {SCAN} }}
      >
    }},
    else_branch = other () => (float[3] last2, float[T,3] all2) {{ {INNER} }}
  >
}}"""
STRAIGHT = f"""g (bool c, float[T,3] x, float[3] h0) => (float[3] r, float[T,3] rs) {{
  r, rs = If (c) <
    then_branch = then () => (float[3] none, float[T,3] scaled) {{ {PLAIN} }},
    else_branch = other () => (float[3] copy, float[T,3] copies) {{
      copy = Identity (h0)
      copies = Identity (x)
    }}
  >
}}"""


def engines(regions: tuple[Region, ...]) -> set[str]:
    """The engines of the regions and of those in their bodies."""
    inner = (plan.regions for region in regions for plan in region.bodies.values())
    return {region.engine for region in regions}.union(*map(engines, inner))


@pytest.mark.parametrize("text", [ONE_LOOP, NESTED])
def test_loops_in_branches_are_compiled(text: str) -> None:
    session = treadle.InferenceSession(HEAD + text)
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    assert "jit" in engines(session.plan.main.regions)
    assert "planned branch by branch: jit takes loops in them" in session.explain()
    for trips in (0, 1, 2, 5):
        for taken in (True, False):
            x = np.linspace(-1, 1, 3 * trips, dtype=np.float32).reshape(trips, 3)
            feeds = {"c": np.array(taken), "x": x, "h0": np.ones(3, np.float32)}
            assert_same(session.run(None, feeds), interp.run(None, feeds), ["r", "rs"])


def test_an_if_without_loops_stays_whole() -> None:
    session = treadle.InferenceSession(HEAD + STRAIGHT)
    assert engines(session.plan.main.regions) == {"onnxruntime"}


def test_an_if_whose_loops_are_not_compiled_stays_whole() -> None:
    session = treadle.InferenceSession(HEAD + ONE_LOOP, engines=("onnxruntime", "interp"))
    assert engines(session.plan.main.regions) == {"onnxruntime"}
