"""Large kernels: nests become functions, equal functions one, with the same outputs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.jit.native import HEAD, check
from treadle import InferenceSession
from treadle.jit.codegen import kernel as emitting
from treadle.jit.kernel.artifact import KernelArtifact
from treadle.jit.schedule.steps import step_functions


def layers(count: int, rows: str) -> str:
    """A loop over layers that are alike: a product, a normalisation and a residual each."""
    body = "\n".join(
        f"""m{k} = MatMul (x{k}, w{k})
        d{k} = ReduceMean <keepdims = 1> (m{k}, last)
        c{k} = Sub (m{k}, d{k})
        s{k} = Softmax <axis = -1> (c{k})
        t{k} = Transpose <perm = [1, 0]> (s{k})
        q{k} = MatMul (t{k}, s{k})
        r{k} = MatMul (s{k}, q{k})
        x{k + 1} = Add (x{k}, r{k})"""
        for k in range(count)
    )
    weights = ", ".join(f"float[24,24] w{k}" for k in range(count))
    grown = "now = Concat <axis = 0> (x0, row)" if rows == "T" else "now = Identity (x0)"
    return f"""g (int64 n, float[{rows},24] x, float[1,24] row, {weights}) => (float[U,24] y) {{
      last = Constant <value = int64[1] {{-1}}> ()
      y = Loop (n, , x) <body = f (int64 i, bool go, float[R,24] x0) => (bool on, float[S,24] z) {{
        on = Identity (go)
        {body}
        {grown}
        half = Constant <value = float {{0.5}}> ()
        h = Mul (x{count}, half)
        top = ReduceMax <keepdims = 1> (h)
        z = Add (now, top)
      }}>
    }}"""


def calls_of_steps(text: str) -> int:
    """How many calls of steps a kernel has."""
    return len(re.findall(r'call void @"(?:nest|step)\.', text))


def feed(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Data of a few rows."""
    named = {f"w{k}": rng.uniform(-0.2, 0.2, (24, 24)).astype(np.float32) for k in range(count)}
    x, row = (rng.uniform(-1, 1, (k, 24)).astype(np.float32) for k in (20, 1))
    return {"n": np.array(4), "x": x, "row": row, **named}


@pytest.fixture
def emitted(monkeypatch: pytest.MonkeyPatch) -> list[KernelArtifact]:
    """The kernels that are written from here on."""
    found: list[KernelArtifact] = []
    write = emitting.emit_kernel

    def keeping(*args, **kwargs):
        found.append(write(*args, **kwargs))
        return found[-1]

    monkeypatch.setattr("treadle.jit.codegen.emit_kernel", keeping)
    return found


@pytest.mark.parametrize("rows", ["20", "T"])
def test_layers_that_are_alike_are_written_once(
    emitted: list[KernelArtifact], rows: str, rng: np.random.Generator
) -> None:
    counts = []
    for count in (12, 24):
        check(layers(count, rows), feed(rng, count))
        text = emitted[-1].text
        counts.append(
            (
                text.count("define internal void"),
                len(re.findall(r'call void @"(?:nest|step)\.', text)),
            )
        )
    (few, calls), (as_few, more_calls) = counts
    assert 0 < few == as_few < calls
    assert more_calls - calls >= 12 * 3


def test_small_kernels_stay_one_function(
    emitted: list[KernelArtifact], rng: np.random.Generator
) -> None:
    check(layers(1, "T"), feed(rng, 1))
    assert not re.search(r'@"(?:nest|step)\.', emitted[-1].text)
    assert re.search(r"@\"ensure\".*alwaysinline", emitted[-1].text)


def test_values_of_nests_that_are_not_outlined_are_passed_on(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(step_functions, "MIN_LONG", 0)
    text = """g (int64 n, float[5] x, int64[4] at) => (float[5] y, float[N] best) {
      y, best = Loop (n, , x) <body = f (int64 i, bool go, float[5] a)
        => (bool on, float[5] b, float most) {
        on = Identity (go)
        picked = Gather (a, at)
        most = ReduceMax <keepdims = 0> (picked)
        s = Sin (a)
        b = Add (s, most)
      }>
    }"""
    x = rng.uniform(-1, 1, 5).astype(np.float32)
    check(text, {"n": np.array(3), "x": x, "at": np.array([0, 4, -1, 2])})
    session = InferenceSession(HEAD + text, engines=("jit", "interp"))
    with pytest.raises(Exception, match=r"iteration 0.*index"):
        session.run(None, {"n": np.array(3), "x": x, "at": np.array([0, 4, 9, 2])})


def test_a_nest_may_read_any_number_of_values(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(step_functions, "MIN_LONG", 0)
    names = [f"v{k}" for k in range(40)]
    inputs = ", ".join(f"float[20] {name}" for name in names)
    steps = "\n".join(f"s{k + 1} = Add (s{k}, {name})" for k, name in enumerate(names))
    text = f"""g (int64 n, float[20] x, {inputs}) => (float[20] y) {{
      y = Loop (n, , x) <body = f (int64 i, bool go, float[20] s0) => (bool on, float[20] z) {{
        on = Identity (go)
        {steps}
        z = Identity (s40)
      }}>
    }}"""
    given = {name: rng.uniform(-1, 1, 20).astype(np.float32) for name in names}
    check(text, {"n": np.array(3), "x": np.zeros(20, np.float32), **given})


def test_a_reduction_to_few_elements_of_many_is_written_once(
    emitted: list[KernelArtifact], rng: np.random.Generator
) -> None:
    text = """g (int64 n, float[16,400] x) => (float[16,400] y) {
      last = Constant <value = int64[1] {-1}> ()
      y = Loop (n, , x) <body = f (int64 i, bool go, float[16,400] a)
        => (bool on, float[16,400] b) {
        on = Identity (go)
        mean = ReduceMean <keepdims = 1> (a, last)
        b = Sub (a, mean)
      }>
    }"""
    check(text, {"n": np.array(3), "x": rng.uniform(-1, 1, (16, 400)).astype(np.float32)})
    assert emitted[-1].text.count("fadd reassoc") <= 2


@pytest.mark.parametrize(
    ("shape", "steps", "function", "is_cut"),
    [
        ("200", 600, "Neg", True),
        ("200", 12, "Tanh", True),
        ("4", 300, "Abs", False),
        ("4", 40, "Sin", True),
    ],
)
def test_a_long_chain_of_functions_is_several_nests(
    emitted: list[KernelArtifact],
    shape: str,
    steps: int,
    function: str,
    is_cut: bool,
    rng: np.random.Generator,
) -> None:
    """LLVM makes no vectors of thousands of operations, and writes few elements out for ever."""
    chain = "\n".join(f"s{k + 1} = {function} (s{k})" for k in range(steps))
    text = f"""g (int64 n, float[{shape}] x) => (float[{shape}] y, float[N] sums) {{
      y, sums = Loop (n, , x) <body = f (int64 i, bool go, float[{shape}] s0)
        => (bool on, float[{shape}] z, float sum) {{
        on = Identity (go)
        {chain}
        z = Identity (s{steps})
        sum = ReduceMax <keepdims = 0> (z)
      }}>
    }}"""
    x = rng.uniform(-1, 1, int(shape)).astype(np.float32)
    check(text, {"n": np.array(3), "x": x})
    assert dict(emitted[-1].counts)["nests"] > 1 or not is_cut


def test_a_chain_read_by_a_reduction_only_is_split(
    emitted: list[KernelArtifact], rng: np.random.Generator
) -> None:
    chain = "\n".join(f"s{k + 1} = Tanh (s{k})" for k in range(20))
    text = f"""g (int64 n, float[200] s0) => (float y) {{
      zero = Constant <value = float {{0.0}}> ()
      y = Loop (n, , zero) <body = f (int64 i, bool go, float a) => (bool on, float b) {{
        on = Identity (go)
        shifted = Add (s0, a)
        {chain.replace("(s0)", "(shifted)")}
        b = ReduceMean <keepdims = 0> (s20)
      }}>
    }}"""
    check(text, {"n": np.array(3), "s0": rng.uniform(-1, 1, 200).astype(np.float32)})
    assert dict(emitted[-1].counts)["nests"] > 1


def test_buffers_between_nests_of_large_tensors_are_small(
    emitted: list[KernelArtifact], rng: np.random.Generator
) -> None:
    chain = "\n".join(f"s{k + 1} = Tanh (s{k})" for k in range(30))
    text = f"""g (int64 n, float[300000] x) => (float[300000] y) {{
      y = Loop (n, , x) <body = f (int64 i, bool go, float[300000] s0)
        => (bool on, float[300000] z) {{
        on = Identity (go)
        {chain}
        z = Identity (s30)
      }}>
    }}"""
    check(text, {"n": np.array(2), "x": rng.uniform(-1, 1, 300_000).astype(np.float32)})
    assert emitted[-1].workspace < 4 * 300_000


def residuals(count: int, kind: str) -> str:
    """A loop over layers x + 0.1 tanh(a x + b), each with numbers, or rows, of its own."""
    shape = "float[256]" if kind == "rows" else "float"
    given = ", ".join(f"{shape} {name}{k}" for k in range(count) for name in "ab")
    body = "\n".join(
        f"""m{k} = Mul (x{k}, a{k})
        s{k} = Add (m{k}, b{k})
        t{k} = Tanh (s{k})
        d{k} = Mul (t{k}, tenth)
        x{k + 1} = Add (x{k}, d{k})"""
        for k in range(count)
    )
    values = ", ".join(
        f"float {name}{k} = {{{(k + 7) / (count + 9)}}}" for k in range(count) for name in "ab"
    )
    params, constants = (f", {given}", "") if kind == "rows" else ("", f"<{values}>")
    return f"""g (int64 n, float[256] x{params}) => (float[256] y) {constants} {{
      tenth = Constant <value = float {{0.1}}> ()
      y = Loop (n, , x) <body = f (int64 i, bool go, float[256] x0) => (bool on, float[256] z) {{
        on = Identity (go)
        {body}
        z = Identity (x{count})
      }}>
    }}"""


@pytest.mark.parametrize("kind", ["numbers", "rows"])
def test_layers_of_other_numbers_are_written_once(
    emitted: list[KernelArtifact], kind: str, rng: np.random.Generator
) -> None:
    functions = []
    for count in (50, 100):
        rows = {f"{name}{k}": rng.uniform(-1, 1, 256) for k in range(count) for name in "ab"}
        given = {name: row.astype(np.float32) for name, row in rows.items() if kind == "rows"}
        x = rng.uniform(-1, 1, 256).astype(np.float32)
        check(residuals(count, kind), {"n": np.array(3), "x": x, **given})
        functions.append(emitted[-1].text.count("define internal void"))
        assert calls_of_steps(emitted[-1].text) >= count / 5
    assert functions[0] == functions[1] <= 3


def test_scalars_of_a_large_kernel_are_not_called(
    emitted: list[KernelArtifact], rng: np.random.Generator
) -> None:
    text = residuals(110, "numbers").replace("float[256]", "float")
    check(text, {"n": np.array(3), "x": np.float32(0.5)})
    assert not re.search(r'@"(?:nest|step)\.', emitted[-1].text)
