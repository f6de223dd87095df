"""Equal steps of a large kernel are emitted once and called, nearly equal ones are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.jit.native import check
from tests.strategies import programs
from treadle import InferenceSession
from treadle.jit.codegen.steps import step_function
from treadle.jit.schedule.steps import step_functions


@pytest.fixture(autouse=True)
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel counts as large."""
    monkeypatch.setattr(step_functions, "MIN_LONG", 0)


@pytest.fixture(name="written")
def _written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions of steps that are emitted from here on."""
    names: list[str] = []
    emit = step_function._emit_function

    def keeping(*args):
        found = emit(*args)
        names.append(found[0].name)
        return found

    monkeypatch.setattr(step_function, "_emit_function", keeping)
    return names


REVERSED = """last = Constant <value = int64[1] {-1}> ()
        end = Constant <value = int64[1] {-100}> ()
        axis = Constant <value = int64[1] {0}> ()"""


def looped(steps: str, last: str, inputs: str = "") -> str:
    """A loop whose body has these steps; `last` is its next value."""
    return f"""g (int64 n, float[40] x{inputs}) => (float[40] y) {{
      y = Loop (n, , x) <body = f (int64 i, bool go, float[40] a0) => (bool on, float[40] z) {{
        on = Identity (go)
        {steps}
        z = Identity ({last})
      }}>
    }}"""


def turned(count: int, kind: str) -> str:
    """Steps that each read what the step before it wrote, at another index."""
    lines = []
    for k in range(count):
        number = {"numbers": f"{0.1 * k + 0.5}", "equal": "0.5"}[kind]
        lines.append(f"""r{k} = Slice (a{k}, last, end, axis, last)
        c{k} = Constant <value = float {{{number}}}> ()
        m{k} = Mul (r{k}, c{k})
        a{k + 1} = Sin (m{k})""")
    return looped("\n".join([REVERSED, *lines]), f"a{count}")


@pytest.mark.parametrize("kind", ["numbers", "equal"])
def test_steps_that_differ_in_memory_and_numbers_are_written_once(written, kind, rng):
    lengths = []
    for count in (4, 8):
        written.clear()
        check(turned(count, kind), {"n": np.array(2), "x": rng.uniform(-1, 1, 40).astype("f")})
        lengths.append(len(written))
    assert lengths[0] == lengths[1]


DIFFERENT = {
    "functions": ("Sin (c0)", "Cos (c1)"),
    "orders of operands": ("Sub (c0, x)", "Sub (x, c1)"),
    "values that are one": ("Mul (c0, x)", "Mul (c1, c1)"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_steps_that_differ_otherwise_are_not(written, name, rng):
    first, second = DIFFERENT[name]
    steps = f"""{REVERSED}
        c0 = Slice (a0, last, end, axis, last)
        d0 = {first}
        e0 = Tanh (d0)
        c1 = Slice (e0, last, end, axis, last)
        d1 = {second}
        e1 = Tanh (d1)"""
    check(looped(steps, "e1"), {"n": np.array(2), "x": rng.uniform(-1, 1, 40).astype("f")})
    assert len(set(written)) == len(written) >= 2


@settings(max_examples=25)
@given(programs())
def test_random_programs_as_functions(program):
    answers = [
        InferenceSession(program.text, engines=engines).run(None, dict(program.feeds))
        for engines in (("jit", "interp"), ("interp",))
    ]
    for found, wanted in zip(*answers, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def _layer(number: int) -> str:
    """A layer that differs from the one before in a number, a function, a sum or an operand."""
    factor = (0.5, 0.25, 0.5, -0.5)[number % 4]
    function, total = ("Exp", "Sin")[number % 3 == 0], ("ReduceMax", "ReduceSum")[number % 2]
    shape = ("float", "float[1]")[number % 2]
    return f"""
        c{number} = Constant <value = {shape} {{{factor}}}> ()
        a{number} = Mul (x{number}, c{number})
        b{number} = {function} (a{number})
        m{number} = {total} <keepdims = {number % 2}> (b{number}, axis)
        d{number} = Sub (b{number}, {"row" if number % 5 else "v"})
        e{number} = Add (d{number}, m{number})
        f{number} = Max (e{number}, c{number})
        g{number} = Sigmoid (f{number})
        x{number + 1} = Mul (g{number}, x{number})"""


def test_layers_that_differ_in_one_thing(rng: np.random.Generator):
    layers = "".join(map(_layer, range(12)))
    text = f"""g (float[T,48] xs, float[48] h0, float[48] row) => (float[48] h, float[T,48] y) {{
      axis = Constant <value = int64[1] {{0}}> ()
      h, y = Scan <num_scan_inputs = 1, body = b (float[48] s, float[48] v)
          => (float[48] s1, float[48] o) {{
        x0 = Add (s, v){layers}
        s1 = Tanh (x12)
        o = Neg (s1)
      }}> (h0, xs)
    }}"""
    h0, row = rng.random((2, 48), np.float32)
    feeds = ({"xs": rng.standard_normal((n, 48), np.float32), "h0": h0, "row": row}
             for n in (0, 1, 2, 5))  # fmt: skip
    check(text, *feeds)
