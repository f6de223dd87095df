"""Operators that convert integers to floats, exactly as their numpy kernels do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.jit.leaves import leaf, native_leaf
from treadle import ops

REDUCED = ("int32", "uint32", "int64", "uint64")
EVERY = (*REDUCED, "int8", "uint8", "int16", "uint16")
SHAPES = ((3,), (1,), (2, 3, 5), (17, 3), (4, 40), (2, 0), ())
OPS = ("ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp")


def numbers(rng: np.random.Generator, name: str, shape: Sequence[int]) -> dict[str, np.ndarray]:
    """Small ones, any at all, and the ends of the range."""
    limits = np.iinfo(name)
    low, high = max(limits.min, -100), min(limits.max, 100)
    ends = np.array([limits.min, limits.max, 0, 1, limits.max // 2], name)
    return {
        "small": rng.integers(low, high, shape, name, endpoint=True),
        "any": rng.integers(limits.min, limits.max, shape, name, endpoint=True),
        "ends": rng.choice(ends, shape),
    }


def check(
    op: str,
    version: int,
    *feeds: Sequence[np.ndarray],
    fixed: Sequence[int] = (),
    **attributes: Any,
) -> None:
    """Native, and what numpy gives; the inputs of each feed have the types of the first."""
    step = leaf(op, version, len(feeds[0]), 1, **attributes)
    run, is_native = native_leaf(step, feeds[0], fixed)
    assert is_native
    for inputs in feeds:
        (wanted,), (found,) = ops.bind_kernel(step)(inputs), run(inputs)
        assert found.dtype == wanted.dtype
        assert np.array_equal(found, wanted), (op, version, attributes, inputs[0])


def is_defined(op: str, x: np.ndarray) -> bool:
    """Numpy casts what is out of range to uint32 in one of two ways, as the array is long.

    Nothing has no largest number, in native code.
    """
    is_told = x.dtype != np.uint32
    if op == "ReduceLogSumExp":
        return x.size > 0 and (is_told or int(x.max()) < 2**32 - 9)
    return op != "ReduceLogSum" or is_told or (x.size > 0 and bool(x.all()))


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("op", OPS)
def test_reductions(op, name, rng):
    for shape in SHAPES:
        for reduced, keepdims in ((True, 1), (False, 0)):
            axis = int(rng.integers(-len(shape), max(len(shape), 1)))
            axes = {"axes": [axis]} if shape and reduced else {}
            for x, version in zip(numbers(rng, name, shape).values(), (1, 11, 13), strict=True):
                if is_defined(op, x):
                    check(op, version, [x], keepdims=keepdims, **axes)


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("op", OPS)
def test_reductions_whose_axes_are_an_operand(op, name, rng):
    version = 28 if "Log" in op else 18
    ways = product(((2, 3, 5), (17, 3)), ([], [0], [-1, 0]))
    for turn, (shape, axes) in enumerate(ways):
        attributes = {"keepdims": turn % 2, "noop_with_empty_axes": turn % 2}
        given = filter(partial(is_defined, op), numbers(rng, name, shape).values())
        feeds = [[x, np.array(axes, np.int64)] for x in given]
        check(op, version, *feeds, fixed=(1,), **attributes)


@pytest.mark.parametrize("name", REDUCED)
def test_logarithms_near_whole_numbers(name):
    powers = np.exp(np.arange(1, 43)).astype(np.uint64)
    near = np.concatenate([powers - np.uint64(1), powers, powers + np.uint64(1)])
    x = near[near <= np.iinfo(name).max].astype(name)
    check("ReduceLogSum", 13, [x[:, None]], axes=[1])


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize(
    ("alpha", "beta"), [(2.0, 3.0), (0.3, 0.7), (1.0, 0.5), (2.5, 1.0), (-0.5, -2.0)]
)
def test_products(name, alpha, beta, rng):
    operands = [numbers(rng, name, shape) for shape in ((5, 3), (5, 4), (4,))]
    kinds = ["small", "any", "ends"] if name != "uint32" else ["small"]
    if name.startswith("u") and alpha < 0:
        kinds = []
    feeds = [[each[kind] for each in operands] for kind in kinds]
    for version in (9, 11, 13) if feeds else ():
        check("Gemm", version, *feeds, transA=1, alpha=alpha, beta=beta)
        check("Gemm", version, *(given[:2] for given in feeds), transA=1, alpha=alpha)


@pytest.mark.parametrize("name", EVERY)
def test_shrinking(name, rng):
    feeds = [[x] for x in numbers(rng, name, (3, 33)).values()]
    for bias, most in ((1.0, 0.5), (0.0, 2.0), (1.5, 3.0)):
        check("Shrink", 9, *feeds, bias=bias, lambd=most)


def test_shrinking_of_halves_compares_halves():
    near = np.array([0.1, -0.1, 0.3, -0.3, 0.7, 1e-4, 5.0], np.float16)
    x = np.concatenate([near, np.nextafter(near, np.float16(9)), np.nextafter(near, -near)])
    for most in (0.1, 0.3, 0.7):
        check("Shrink", 9, [x], bias=0.3, lambd=most)


@pytest.mark.parametrize("name", EVERY)
def test_the_error_function(name, rng):
    check("Erf", 9, *([x] for x in numbers(rng, name, (3, 33)).values()))
    check("Erf", 9, [np.arange(12).astype(name)])
