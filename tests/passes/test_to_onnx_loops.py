"""Passes that prepare programs of other formats for ONNX: loops, names, results of bodies."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.infer import infer
from treadle.ir import (
    Block,
    BlockBuilder,
    Carried,
    Info,
    Invariant,
    Iteration,
    Loop,
    Model,
    Role,
    Sliced,
    Stacked,
    Value,
    tensor,
    walk,
)
from treadle.passes import is_mixed, mixed_refusal, to_onnx_loops, unmix_loops

FROM_ELSEWHERE = Info(domain="openvino", name="loop")


def _running(stack: Stacked, trip: bool) -> Model:
    """Running sums over the columns of x, of the first M of them or of all."""
    body = BlockBuilder("body")
    body.param("i", tensor("int64"))
    s, e = body.param("s", tensor("float32", 2)), body.param("e", tensor("float32", 2))
    t = body.leaf("Add", 14, s, e)
    block = BlockBuilder("main")
    count, a = block.param("M", tensor("int64")), block.param("a", tensor("float32", 2))
    x = block.param("x", tensor("float32", 2, 5))
    roles: tuple[Role, ...] = (Iteration(), Carried(), Sliced(1))
    inner = body.build(None, t, t)
    results = block.loop(count if trip else None, None, inner, roles, (a, x), (stack,))
    return Model(block.build(*results), opsets={"": 21})


STACKS = [Stacked(), Stacked(1), Stacked(0, True), Stacked(-1, True)]
X = np.arange(10, dtype=np.float32).reshape(2, 5)


@pytest.mark.parametrize("trip", [True, False])
@pytest.mark.parametrize("stack", STACKS)
def test_unmixed_loops_give_the_same(stack: Stacked, trip: bool) -> None:
    model = infer(_running(stack, trip))
    plain = unmix_loops(model)
    loops = [visit.step for visit in walk(plain) if isinstance(visit.step, Loop)]
    assert not any(map(is_mixed, loops))
    feed = {"M": 3 if trip else 0, "a": np.ones(2, np.float32), "x": X}
    wanted, found = (
        treadle.InferenceSession(each, engines=["interp"]).run(None, feed)
        for each in (model, plain)
    )
    for have, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(have, want)


def test_a_loop_of_onnx_stays() -> None:
    text = """<ir_version: 10, opset_import: ["": 21]> g (int64 M, float[2] a) => (float[2] s) {
        s = Loop <body = b (int64 i, bool c, float[2] v) => (bool c, float[2] w) {
            w = Add(v, v) }> (M, "", a) }"""
    model = infer(treadle.load(text))
    assert unmix_loops(model) is model


def test_a_stack_without_a_rank_is_declined() -> None:
    loop = _running(Stacked(1), True).main.steps[0]
    assert isinstance(loop, Loop)
    assert mixed_refusal(loop) == "the rank of a stacked element is not known"


def _passing(inner_name: str) -> Block:
    """A loop from elsewhere that gives its own params, one of them twice, under outer names."""
    body = BlockBuilder("body")
    i = body.param("x", tensor("int64"))
    s, v = body.param(inner_name, tensor("float32")), body.param("y", tensor("float32"))
    block = BlockBuilder("main")
    x, y = block.param("x", tensor("float32")), block.param("y", tensor("float32"))
    trip = block.constant(np.array(2), "s")
    roles: tuple[Role, ...] = (Iteration(), Carried(), Invariant())
    inner = body.build(None, v, s, s, i)
    results = tuple(Value(name) for name in ("a", "b", "c", "d"))
    stacks = (Stacked(), Stacked(), Stacked())
    block.add(Loop(trip, None, roles, (x, y), inner, stacks, results, FROM_ELSEWHERE))
    return block.build(*results)


@pytest.mark.parametrize("inner_name", ["s", "a", "x", "y_1"])
def test_bodies_get_names_and_results_of_their_own(inner_name: str) -> None:
    model = Model(_passing(inner_name), opsets={"": 21})
    plain = to_onnx_loops(model)
    (loop,) = (visit.step for visit in walk(plain) if isinstance(visit.step, Loop))
    outer = {value.name for value in (*plain.main.params, *plain.main.results) if value} | {"s"}
    inner = {value.name for value in loop.body.params[:2]}
    inner |= {value.name for step in loop.body.steps for value in step.results if value}
    assert not inner & outer
    made = {value for step in loop.body.steps for value in step.results}
    given = loop.body.results[1:]
    assert made >= set(given)
    assert len(set(given)) == len(given)
    feed = {"x": np.float32(1), "y": np.float32(5)}
    found = treadle.InferenceSession(plain, engines=["interp"]).run(None, feed)
    for have, want in zip(found, (5, [1, 5], [1, 5], [0, 1]), strict=True):
        np.testing.assert_array_equal(have, want)
