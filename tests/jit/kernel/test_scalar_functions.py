"""The records of scalar functions: code for each, and what they say about order and vectors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.schedule.test_pipelines import STACKED
from tests.jit.schedule.test_pipelines import schedule_of as schedule
from treadle.ir import DType
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.ir import Loop
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.schedule.cost_model import iteration_bound, node_bound

NUMPY = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
         "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
DTYPES = (DType.INT32, DType.UINT8, DType.FLOAT32, DType.FLOAT64)


def test_every_function_has_code_by_its_name():
    by_apply = {"bits", "cast", "where"}
    assert FUNCTIONS.keys() == functions._TABLE.keys() | by_apply


def test_associative_functions():
    assert {name for name, found in FUNCTIONS.items() if found.is_associative} == NUMPY.keys()


@pytest.mark.parametrize("name", NUMPY)
def test_reorderable_functions_give_the_same_bits_in_every_order(name, rng):
    for dtype in DTYPES:
        if not FUNCTIONS[name].is_reorderable(dtype):
            continue
        type_ = np.dtype(dtype.numpy)
        drawn = rng.uniform(-1, 1, (3, 1000)) if type_.kind == "f" else rng.integers(0, 255, 3000)
        a, b, c = np.reshape(drawn, (3, -1)).astype(type_)
        apply = NUMPY[name]
        assert apply(apply(a, b), c).tobytes() == apply(a, apply(c, b)).tobytes()


def test_sums_and_products_of_floats_are_rounded():
    for name in ("add", "mul"):
        assert not FUNCTIONS[name].is_reorderable(DType.FLOAT32)
        assert FUNCTIONS[name].is_reorderable(DType.INT64)


def test_vector_forms_depend_on_types():
    f32, f64, half = DType.FLOAT32, DType.FLOAT64, DType.FLOAT16
    i64, bool_ = DType.INT64, DType.BOOL
    assert FUNCTIONS["div"].has_vector_form((f32, f32), f32)
    assert not FUNCTIONS["div"].has_vector_form((i64, i64), i64)
    assert not FUNCTIONS["add"].has_vector_form((half, half), half)
    assert FUNCTIONS["cast"].has_vector_form((i64,), f32)
    assert not FUNCTIONS["cast"].has_vector_form((f32,), i64)
    assert not FUNCTIONS["cast"].has_vector_form((i64,), bool_)
    assert FUNCTIONS["sin"].has_vector_form((f32,), f32)
    assert FUNCTIONS["sin"].has_vector_form((f64,), f64)
    assert not FUNCTIONS["tan"].has_vector_form((f64,), f64)
    assert not FUNCTIONS["pow"].has_vector_form((f32, f32), f32)


def test_long_code_costs_more_in_every_respect():
    cheap, dear = FUNCTIONS["add"].cost, FUNCTIONS["tanh"].cost
    for field in ("vectorized", "float64", "alone", "weight"):
        assert getattr(dear, field) > getattr(cheap, field)


def test_the_bound_of_an_iteration_is_that_of_its_nodes():
    loop = next(iter(schedule(STACKED).loops)).op
    assert isinstance(loop, Loop)
    bounds = [node_bound(node) for node in loop.body.nodes]
    assert iteration_bound(loop.body) == int(2 + sum(bounds))
    product = 1024 / 8  # 32 x 32 multiplications, an eighth of a nanosecond each
    assert max(bounds) == pytest.approx(max(product, 32 * 4) + 0.2)
