"""The verifier of programs: grammar, dominance, one writer, types; and its callers."""

from dataclasses import replace

import numpy as np
import pytest

import treadle
from tests.interp.blocks import COUNTED, add, body_of, looping
from treadle.ir import (
    Block,
    BlockBuilder,
    Branch,
    Carried,
    Constant,
    Function,
    FunctionId,
    Invariant,
    Iteration,
    Leaf,
    Literal,
    Model,
    Sliced,
    Stacked,
    Value,
    faults,
    tensor,
    verified,
    verify,
)
from treadle.passes import inline_functions
from treadle.passes.simplify.pipeline import simplify

X, Y, Z, K = (Value(name, inferred=tensor("float32", 2)) for name in "xyzk")
NEG = Leaf("", "Neg", 13, (X,), (Y,))
LATER = Leaf("", "Neg", 13, (X,), (Z,))
NOTHING = Block((), (), (), (None,))
SUM = looping(body_of("i c s", lambda b, i, c, s: (None, add(b, s, s))), [*COUNTED, Carried()])
(LOOP,) = SUM.steps


def of(*steps, params=(X,), results=(), constants=()):
    return Model(Block(params, constants, steps, results))


def loop(**changed):
    return Model(replace(SUM, steps=(replace(LOOP, **changed),)))


def branch(then, otherwise, operands=(X,), results=(Z,)):
    condition = Value("go")
    step = Branch(condition, then, otherwise, operands, results)
    return of(step, params=(condition, X))


def typed_loop(role, outer, inner, **more):
    operand, param = Value("outer", inferred=outer), Value("inner", inferred=inner)
    body = Block((param,), (), (), (None,))
    step = replace(LOOP, roles=(role,), operands=(operand,), body=body, results=(), **more)
    return of(replace(step, trip=None), params=(operand,))


def side(name, *results):
    return Block((Value(f"{name} x"),), (), (), results)


MALFORMED = {
    "a value nobody makes": (of(NEG, params=()), 'main/neg_0 reads "x"'),
    "a value made later": (
        of(replace(NEG, operands=(Z,)), Leaf("", "Neg", 13, (X,), (Z,))),
        "which is not defined",
    ),
    "a result nobody makes": (of(NEG, results=(Z,)), 'main gives "z"'),
    "two writers": (of(NEG, replace(NEG, info=NEG.info)), 'makes "y", which main/neg_0 makes too'),
    "a param twice": (of(params=(X, X)), 'makes "x"'),
    "a block twice": (branch(shared := side("s", None), shared), 'makes "s x"'),
    "a value of outside": (
        branch(side("a", X), side("b", None)),
        'main/if_0.then_branch gives "x"',
    ),
    "declarations": (Model(replace(SUM, claims=(None,) * 3)), "3 declarations for 1 results"),
    "roles": (loop(roles=(*LOOP.roles, Invariant())), "4 roles, wanted 3"),
    "operands": (loop(operands=()), "0 operands, wanted 1"),
    "results": (loop(results=()), "1 carried values, and 0 results of them"),
    "body": (loop(body=replace(LOOP.body, results=(None,))), "1 results of its body, wanted 2"),
    "stacks": (loop(stacks=(Stacked(),)), "1 carried values, and 0 results of them"),
    "iterations": (
        loop(roles=(Iteration(), Iteration(), Carried())),
        "more than one iteration number",
    ),
    "params of a side": (
        branch(Block((), (), (), (None,)), side("b", None)),
        "0 params of its then",
    ),
    "results of a side": (branch(side("a", None), side("b")), "0 results of its else_branch"),
    "captures": (of(replace(NEG, blocks={"body": Block()}, captures=(X,))), "1 captures, 0 params"),
    "a constant": (
        of(constants=(Constant(Y, Literal.of(np.zeros(3, np.float32))),)),
        '"y" is float32[2], its data float32[3]',
    ),
    "the dtype of a capture": (
        typed_loop(Invariant(), tensor("float32", 2), tensor("int64", 2)),
        '"outer" is float32[2], "inner" is int64[2]',
    ),
    "the shape of a capture": (
        typed_loop(Invariant(), tensor("float32", 2), tensor("float32", 3)),
        '"inner" is float32[3]',
    ),
    "the rank of an item": (
        typed_loop(Sliced(), tensor("float32", 2, 3), tensor("float32", 2, 3)),
        '"inner" is float32[2,3]',
    ),
    "a function": (
        Model(
            Block(),
            {FunctionId("local", "f"): Function(FunctionId("local", "f"), of(NEG, params=()).main)},
        ),
        'local::f/neg_0 reads "x"',
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_program_is_found(case):
    model, words = MALFORMED[case]
    found = "\n".join(faults(model))
    assert words in found
    with pytest.raises(AssertionError, match="the test made a malformed program"):
        verify(model, "the test")


@pytest.mark.parametrize(
    "model",
    [
        Model(SUM),
        of(NEG, results=(Y, X, Y, None)),
        branch(side("a", None), side("b", None)),
        typed_loop(Invariant(), tensor("float32", "N"), tensor("float32", 3)),
        typed_loop(Sliced(1), tensor("float32", 2, 3), tensor("float32", 2)),
        typed_loop(Invariant(), None, tensor("float32", 3)),
        of(constants=(Constant(K, Literal.of(np.zeros(2, np.float32))),)),
    ],
)
def test_a_valid_program_has_no_faults(model):
    assert faults(model) == []


def test_bodies_may_read_outer_values_inside_the_simplifier():
    model = branch(side("a", X), side("b", X))
    assert len(faults(model)) == 2
    assert faults(model, is_open=True) == []


def test_a_pass_that_makes_a_malformed_program_is_named():
    @verified
    def drop_steps(model):
        return replace(model, main=replace(model.main, steps=()))

    with pytest.raises(AssertionError, match=r"drop_steps made .*\n  main gives"):
        drop_steps(of(NEG, results=(Y,)))


def test_a_pass_of_the_simplifier_is_named_too():
    def lose(block, at):
        return replace(block, steps=())

    with pytest.raises(AssertionError, match="lose made a malformed program"):
        simplify(of(NEG, results=(Y,)), (lose,))


def test_passes_are_not_verified_without_treadle_debug(monkeypatch):
    monkeypatch.delenv("TREADLE_DEBUG")

    @verified
    def drop_steps(model):
        return replace(model, main=replace(model.main, steps=()))

    assert drop_steps(of(NEG, results=(Y,))).main.steps == ()


def test_readers_and_passes_make_valid_programs():
    text = """<ir_version: 10, opset_import: ["" : 21]>
        g (int64 n, bool c, float x) => (float y) {
            y = Loop (n, c, x) <body = b (int64 i, bool go, float p) => (bool go, float q) {
                q = If (go) <then_branch = t () => (float r) {r = Neg (p)},
                             else_branch = e () => (float r) {r = Identity (x)}>}>}"""
    model = treadle.load(text)
    assert faults(model) == []
    assert faults(inline_functions(model)) == []
    assert faults(simplify(model)[0]) == []


def test_the_builder_makes_programs():
    b = BlockBuilder()
    assert faults(Model(b.build(b.leaf("Neg", 13, b.param("x"))))) == []
