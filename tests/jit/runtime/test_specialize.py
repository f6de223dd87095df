"""Dynamic axes of inputs: those that loops slice; equal lengths are one dim."""

from __future__ import annotations

import numpy as np

import treadle
from tests.jit.native import HEAD, check, natives


def scan(name, first, second, attributes="", kind="float"):
    return f"""{name} = Scan <num_scan_inputs = 2{attributes},
        body = b ({kind} s, {kind} e, {kind} f) => ({kind} s1) {{
        m = Mul (e, f)
        s1 = Add (s, m)
      }}> (start, {first}, {second})"""


def text(*scans, shape="A", result="float"):
    names = ", ".join(f"float[{shape}] {name}" for name in "xyzw")
    results = ", ".join(f"{result} r{k}" for k in range(len(scans)))
    return f"g ({result} start, {names}) => ({results}) {{\n" + "\n".join(scans) + "\n}"


def feed(rng: np.random.Generator, *shapes):
    arrays = {n: rng.normal(size=s).astype(np.float32) for n, s in zip("xyzw", shapes, strict=True)}
    return {"start": np.float32(0), **arrays}


def test_inputs_sliced_together_share_one_dim(rng: np.random.Generator):
    pairs = [("x", "y"), ("z", "w"), ("y", "z")]
    model = text(*(scan(f"r{k}", *pair) for k, pair in enumerate(pairs)))
    check(model, *(feed(rng, *[(length,)] * 4) for length in (5, 1, 7)))
    session = treadle.InferenceSession(HEAD + model, engines=("jit", "interp"))
    (native,) = natives(session)
    assert len(native.compiler.base.open) == 4
    assert len(set(native.compiler.base.open.values())) == 1
    session.run(None, feed(rng, *[(5,)] * 4))
    session.run(None, feed(rng, *[(8,)] * 4))
    assert len(native.cache.compiled) == 1


def test_an_axis_counted_from_the_end(rng: np.random.Generator):
    sliced = scan("r0", "x", "y", ", scan_input_axes = [-1, 1]", "float[2]")
    model = text(sliced, shape="2,A", result="float[2]")
    session = treadle.InferenceSession(HEAD + model, engines=("jit", "interp"))
    (native,) = natives(session)
    assert {axis for _, axis in native.compiler.base.open} == {1}
    start = np.zeros(2, np.float32)
    check(model, *({**feed(rng, *[(2, length)] * 4), "start": start} for length in (4, 1, 6)))


def test_a_sliced_input_with_other_readers_is_static(rng: np.random.Generator):
    whole = scan("r1", "x", "x").replace(
        "m = Mul (e, f)", "k = Mul (y, e)\n m = ReduceSum <keepdims = 0> (k)"
    )
    model = text(scan("r0", "z", "y"), whole)
    session = treadle.InferenceSession(HEAD + model, engines=("jit", "interp"))
    names = [value.name for native in natives(session) for value in native.region.inputs]
    opened = [names[k] for native in natives(session) for k, _ in native.compiler.base.open]
    assert sorted(opened) == ["x", "z"]
    check(model, *(feed(rng, (2,), (length,), (length,), (1,)) for length in (3, 4)))
