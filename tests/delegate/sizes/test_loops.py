"""Loops whose values outgrow memory: an error on every choice of engines, before it is full."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle import machine

ROOM = 2**27 + 2**26
ITEM = np.ones(2**20, np.float32)
BODIES = {
    "stacked": (
        "z = Loop (k, , ) <body = b (int64 i, bool c) => (bool d, float[n] e)"
        " { d = Identity (c) f = Cast <to = 1> (i) e = Add (x, f) }>", 150,
    ),
    "stacked until a condition": (
        "one = Constant <value = bool {1}> ()"
        " z = Loop ( , one, ) <body = b (int64 i, bool c) => (bool d, float[n] e)"
        " { d = Less (i, k) f = Cast <to = 1> (i) e = Add (x, f) }>", 150,
    ),
    "the same one stacked": (
        "z = Loop (k, , ) <body = b (int64 i, bool c) => (bool d, float[n] e)"
        " { d = Identity (c) e = Identity (x) }>", 150,
    ),
    "carried": (
        "z = Loop (k, , x) <body = b (int64 i, bool c, float[p] a) => (bool d, float[q] e)"
        " { d = Identity (c) e = Concat <axis = 0> (a, a) }>", 8,
    ),
}  # fmt: skip
ENGINES = (None, ("jit", "interp"), ("onnxruntime", "interp"), ("interp",))


def session(name, engines):
    body, _ = BODIES[name]
    shape = "m" if name == "carried" else "t,n"
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
        g (int64 k, float[n] x) => (float[{shape}] z) {{ {body} }}"""
    return treadle.InferenceSession(text, engines=engines)


@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize("name", BODIES)
def test_values_that_outgrow_memory(monkeypatch, name, engines):
    made = session(name, engines)
    few = {"k": np.array(3), "x": ITEM[:10]}
    before = made.run(None, few)[0]
    filled = machine.resident_memory()
    monkeypatch.setattr(machine, "free_memory", lambda: ROOM + filled - machine.resident_memory())
    with pytest.raises(treadle.RunError, match="of memory there are") as raised:
        made.run(None, {"k": np.array(BODIES[name][1]), "x": ITEM})
    assert "loop" in raised.value.path
    monkeypatch.undo()
    np.testing.assert_array_equal(made.run(None, few)[0], before)


@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize("name", BODIES)
def test_values_that_fit(monkeypatch, name, engines):
    made = session(name, engines)
    monkeypatch.setattr(machine, "free_memory", lambda: 2.0**32)
    count = 5 if name == "carried" else 20
    given = {"k": np.array(count), "x": ITEM}
    wanted = session(name, ("interp",)).run(None, given)[0]
    np.testing.assert_array_equal(made.run(None, given)[0], wanted)


def test_native_code_asks_before_it_allocates_much(monkeypatch):
    made, asked = session("carried", ("jit", "interp")), []
    real = machine.refusal
    monkeypatch.setattr(machine, "refusal", lambda *given: asked.append(given) or real(*given))
    made.run(None, {"k": np.array(3), "x": ITEM})
    assert not asked, "a value that is not large"
    made.run(None, {"k": np.array(6), "x": ITEM})
    assert asked
    assert all(size > machine.LARGE and held < size for size, _, held in asked)


@pytest.mark.parametrize("engines", ENGINES)
def test_a_bound_on_bytes_holds_for_values_of_native_code(engines):
    made = session("carried", engines)
    given = {"k": np.array(7), "x": ITEM}
    with pytest.raises(treadle.LimitExceeded, match="max_bytes"):
        made.run(None, given, treadle.RunOptions(max_bytes=2**27))


def test_regions_without_loops_are_not_watched():
    text = """<ir_version: 10, opset_import: ["" : 20]>
        g (float[n] x) => (float[n] z) { y = Tanh (x) z = Neg (y) }"""
    made = treadle.InferenceSession(text, engines=("onnxruntime", "interp"))
    (region,) = made.plan.main.regions
    assert not region.runnable.keeps
    made = session("stacked", ("onnxruntime", "interp"))
    (region,) = made.plan.main.regions
    assert region.runnable.keeps
