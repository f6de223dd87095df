"""Blocks: the environment, when values are released, and errors of a run."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from tests.interp.blocks import add, f32, i64, run, same
from treadle.errors import KernelError, Unsupported
from treadle.execution import prepare
from treadle.ir import BlockBuilder, Constant, Leaf, Literal, Value, attribute
from treadle.plan import RunContext, interp_only
from treadle.tracing import ValueMade


def test_results_may_be_params_constants_absent_or_listed_twice():
    b = BlockBuilder()
    x = b.param("x")
    k = b.constant(f32(5), "k")
    y = add(b, x, k)
    same(run(b.build(x, k, None, y, y), f32(1)), [f32(1), f32(5), None, f32(6), f32(6)])


def test_results_are_writable():
    b = BlockBuilder()
    x, items = b.param("x"), b.param("items")
    k = b.constant(f32(1, 2), "k")
    y = b.leaf("Identity", 16, x)
    flat = b.leaf("Reshape", 19, x, b.constant(i64([-1]), "all"))
    z = b.leaf("Neg", 13, x)
    block = b.build(x, y, k, k, flat, items, z, z)
    program = prepare(interp_only(block))
    given, item = f32(range(4), shape=(2, 2)), f32(7)
    for _ in range(2):
        out = program([given, [item, item]], RunContext())
        assert not any(np.shares_memory(array, given) for array in out[:2])
        for array in (*out[:5], *out[5], *out[6:]):
            array += 100
        same(given, f32(range(4), shape=(2, 2)))
        same(item, f32(7))
        same(out[2], f32(101, 102))
        same(out[5], [f32(107), f32(107)])
        same(out[7], 100 - given)


def test_a_param_with_a_default_takes_it_where_nothing_is_fed():
    b = BlockBuilder()
    x = b.param("x")
    k = b.param("k")
    block = b.build(add(b, x, k))
    block = replace(block, constants=(Constant(k, Literal.of(f32(10))),))
    same(run(block, f32(1), None), [f32(11)])
    same(run(block, f32(1), f32(2)), [f32(3)])


def test_a_value_is_let_go_after_its_last_use():
    b = BlockBuilder()
    x = b.param("x")
    first = b.leaf("Neg", 13, x, result="first")
    second = b.leaf("Neg", 13, first, result="second")
    b.leaf("Neg", 13, x, result="unused")
    third = b.leaf("Neg", 13, second, result="third")
    block = b.build(third)
    alive: dict[str, weakref.ref] = {}
    seen: list[tuple[str, set[str]]] = []

    def listen(event):
        if isinstance(event, ValueMade) and event.step:
            gc.collect()
            seen.append((event.name, {name for name, ref in alive.items() if ref() is not None}))
            alive[event.name] = weakref.ref(event.value)

    run(block, f32(range(3)), context=RunContext(listen))
    assert seen == [
        ("first", set()),
        ("second", {"first"}),
        ("unused", {"second"}),
        ("third", {"second"}),
    ]


def test_an_error_of_a_kernel_says_where():
    b = BlockBuilder()
    x, y = b.param("x"), b.param("y")
    z = add(b, b.leaf("Neg", 13, x), y)
    with pytest.raises(KernelError) as caught:
        run(b.build(z), f32(1, 2), f32(1, 2, 3))
    assert caught.value.path == "main/add_1"
    assert str(caught.value).startswith("main/add_1: Add-14(float32[2], float32[3])")


def test_an_unknown_operator_is_refused_before_anything_runs():
    b = BlockBuilder()
    y = b.leaf("Wibble", 1, b.param("x"), domain="somewhere")
    with pytest.raises(Unsupported, match=r"main/wibble_0: somewhere::Wibble-1: no kernel"):
        prepare(interp_only(b.build(y)))


def test_an_unknown_operator_with_a_body_is_refused():
    inner = BlockBuilder("inner").build()
    b = BlockBuilder()
    b.add(Leaf("", "Identity", 16, (b.param("x"),), (y := b.value("y"),), {}, {"body": inner}))
    with pytest.raises(Unsupported, match="Identity-16"):
        prepare(interp_only(b.build(y)))


def test_omitted_results_of_a_leaf():
    b = BlockBuilder()
    x = b.param("x")
    first, third = Value("first"), Value("third")
    axis = {"axis": attribute("axis", 0)}
    b.add(Leaf("", "Split", 13, (x,), (first, None, third), axis))
    same(run(b.build(first, third), f32(1, 2, 3)), [f32([1]), f32([3])])
