"""If: one block runs, its results are the Branch's."""

import numpy as np
import pytest

from tests.interp.blocks import f32, i64, run, same, yes
from treadle.errors import RunError
from treadle.ir import BlockBuilder


def branching(then, otherwise, captured=1):
    """main(condition, x...) = If; `then` and `otherwise` give a block's results."""
    blocks = []
    for name, make in (("then", then), ("else", otherwise)):
        builder = BlockBuilder(name)
        params = [builder.param(f"x{k}") for k in range(captured)]
        blocks.append(builder.build(*make(builder, *params)))
    main = BlockBuilder("main")
    condition = main.param("condition")
    operands = [main.param(f"x{k}") for k in range(captured)]
    return main.build(*main.branch(condition, *blocks, operands))


def doubled(b, x):
    return (b.leaf("Add", 14, x, x),)


def negated(b, x):
    return (b.leaf("Neg", 13, x),)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_a_condition_of_one_element_of_any_rank(shape):
    block = branching(doubled, negated)
    same(run(block, yes().reshape(shape), f32(3)), [f32(6)])
    same(run(block, yes(False).reshape(shape), f32(3)), [f32(-3)])


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (np.array([True, False]), "the condition is bool[2]"),
        (np.zeros(0, bool), "the condition is bool[0]"),
        (i64(1), "the condition is int64[], wanted one element of bool"),
        (None, "the condition is absent"),
    ],
)
def test_no_single_bool(condition, words):
    with pytest.raises(RunError) as caught:
        run(branching(doubled, negated), condition, f32(3))
    assert str(caught.value).startswith(f"main/if_0: {words}")


def test_the_block_not_taken_does_not_run():
    def failing(b, x):
        return (b.leaf("Reshape", 19, x, b.constant(i64([7, 7]), "shape")),)

    block = branching(doubled, failing)
    same(run(block, yes(), f32(1, 2)), [f32(2, 4)])
    with pytest.raises(RunError, match=r"main/if_0\.else_branch/reshape_0: Reshape-19"):
        run(block, yes(False), f32(1, 2))


def test_blocks_may_differ_in_shape_rank_and_kind():
    block = branching(lambda _, x: (x,), lambda b, x: (b.leaf("SequenceConstruct", 11, x),))
    same(run(block, yes(), f32(1, 2)), [f32(1, 2)])
    same(run(block, yes(False), f32(1, 2)), [[f32(1, 2)]])


def test_params_constants_and_one_value_twice_as_results():
    def fixed(b, x):
        k = b.constant(f32(5), "k")
        return k, k, x

    block = branching(fixed, lambda b, x: (x, x, None))
    same(run(block, yes(), f32(1)), [f32(5), f32(5), f32(1)])
    same(run(block, yes(False), f32(1)), [f32(1), f32(1), None])


def test_an_absent_capture_stays_absent():
    block = branching(lambda _, x, y: (y,), lambda _, x, y: (x,), captured=2)
    same(run(block, yes(), f32(1), None), [None])
    same(run(block, yes(False), f32(1), None), [f32(1)])
