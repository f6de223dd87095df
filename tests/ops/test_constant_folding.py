"""Constant folding: leaves that are evaluated before a run, and leaves that must not be."""

import numpy as np
import pytest

from treadle import ops
from treadle.ir import Attribute, Block, Kind, Leaf, Reference, Value, attribute

MOST = 64


def leaf(op, version, count, attributes=(), domain="", results=1, blocks=None):
    named = {name: attribute(name, value) for name, value in dict(attributes).items()}
    operands = tuple(Value(f"x{k}") for k in range(count))
    made = tuple(Value(f"y{k}") for k in range(results))
    return Leaf(domain, op, version, operands, made, named, blocks or {})


def fold(op, version, *operands, exact=True, most=MOST, **attributes):
    return ops.fold(leaf(op, version, len(operands), attributes), operands, most, exact=exact)


def test_operators_equal_on_every_engine_are_folded():
    (found,) = fold("Add", 14, np.array([1, 2]), np.array(3))
    assert found.tolist() == [4, 5]
    (found,) = fold("Cast", 13, np.array([1.9, -1.9], np.float32), to=7)
    assert found.tolist() == [1, -1]


@pytest.mark.parametrize("op", ["Exp", "ReduceSum", "MatMul"])
def test_other_operators_are_folded_unless_exactness_is_asked(op):
    operands = [np.eye(2, dtype=np.float32)] * (2 if op == "MatMul" else 1)
    assert fold(op, 13, *operands) is None
    assert fold(op, 13, *operands, exact=False) is not None


WHOLE, LEAST = np.array([6, 7]), np.array([np.iinfo(np.int64).min])
UNDEFINED = {
    "a division by 0": ("Div", 14, WHOLE, np.array([2, 0])),
    "the least number over -1": ("Div", 14, LEAST, np.array([-1])),
    "a remainder of 0": ("Mod", 13, WHOLE, np.array(0)),
    "a product of floats": ("ReduceProd", 18, np.array([0.1, 0.2, 0.3])),
}


@pytest.mark.parametrize("case", UNDEFINED)
def test_undefined_results_are_not_folded(case):
    assert fold(*UNDEFINED[case]) is None


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e30, -1e30])
def test_a_float_beyond_the_integers_is_not_cast(number):
    assert fold("Cast", 13, np.array(number), to=7) is None
    assert fold("Cast", 13, np.array(number), to=1) is not None
    assert fold("Cast", 13, np.array(number), to=9)[0].item() is True


def test_whole_numbers_are_divided_and_multiplied():
    assert fold("Div", 14, WHOLE, np.array([-1, 2]))[0].tolist() == [-6, 3]
    assert fold("ReduceProd", 18, WHOLE, keepdims=0)[0].item() == 42


@pytest.mark.parametrize(
    ("op", "version", "operands"),
    [
        ("ConstantOfShape", 9, [np.array([2**40, 2**20])]),
        ("Expand", 13, [np.array(1.0), np.array([2**40])]),
        ("Tile", 13, [np.arange(4), np.array([2**40])]),
        ("Range", 11, [np.array(0), np.array(2**60), np.array(1)]),
        ("Neg", 13, [np.zeros(MOST + 1)]),
        ("Concat", 13, [np.zeros(MOST), np.zeros(MOST)]),
    ],
)
def test_large_results_are_not_folded(op, version, operands):
    attributes = {"axis": 0} if op == "Concat" else {}
    assert fold(op, version, *operands, **attributes) is None


def test_a_shape_reads_no_element_so_that_its_operand_may_be_large():
    assert fold("Shape", 15, np.broadcast_to(np.zeros(()), (2**20, 2**10)))[0].tolist() == [
        2**20,
        2**10,
    ]


def test_random_and_failing_operators_stay_unknown():
    assert fold("RandomUniformLike", 1, np.zeros(2, np.float32), exact=False) is None
    assert fold("Bernoulli", 15, np.zeros(2, np.float32), exact=False) is None
    assert fold("Reshape", 14, np.zeros(4), np.array([3])) is None
    assert fold("Wibble", 1, np.zeros(4), exact=False) is None


def test_attribute_references_of_a_function_are_not_folded():
    step = leaf("Cast", 13, 1)
    reference = Attribute("to", Kind.INT, Reference("type"))
    step = Leaf("", "Cast", 13, step.operands, step.results, {"to": reference})
    assert ops.fold(step, [np.array(1.0)], MOST) is None
    assert not ops.is_repeatable(step)
    assert not ops.is_repeatable(leaf("Wibble", 1, 0, blocks={"body": Block()}))


def test_an_array_of_other_objects_is_no_reason_to_fail():
    assert fold("Identity", 16, np.array([None, 3], object), exact=False) is not None


def test_long_texts_are_not_folded():
    short, long = np.array(["ab"], object), np.array(["ab" * 1000], object)
    (found,) = fold("StringConcat", 20, short, short, exact=False)
    assert found.tolist() == ["abab"]
    assert fold("StringConcat", 20, short, long, exact=False) is None
    assert fold("StringConcat", 20, np.array(["a" * 600], object), short, exact=False) is None
    many = np.array([[f"{k}"] for k in range(MOST)], object)
    assert fold("StringConcat", 20, many, np.array(["a" * 500], object), exact=False) is None
