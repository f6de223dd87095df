"""Operators without a kernel run their definition, which is made once for the types at run time."""

import numpy as np
import pytest

from tests.interp.blocks import f32, i64, same
from treadle import ops
from treadle.errors import Unsupported
from treadle.execution import prepare
from treadle.ir import (
    Attribute,
    BlockBuilder,
    Call,
    DType,
    Function,
    FunctionId,
    Kind,
    Leaf,
    Reference,
    Sequence,
    Tensor,
    Value,
    attribute,
    tensor,
)
from treadle.plan import RunContext, interp_only

SEQUENCE_MAP = FunctionId("", "SequenceMap")


def called(*types, attributes=None):
    """main(operands) = a call of SequenceMap, which stands for any operator with a definition."""
    main = BlockBuilder("main")
    operands = tuple(main.param(f"x{k}", type_) for k, type_ in enumerate(types))
    result = main.value("y")
    main.add(Call(SEQUENCE_MAP, operands, (result,), 17, attributes or {}))
    return main.build(result)


class Definitions:
    """Gives a function that adds its operands, and remembers what it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, step, types):
        self.asked.append(tuple(types))
        b = BlockBuilder("definition")
        total, *others = [b.param(f"p{k}") for k in range(len(types))]
        for other in others:
            total = b.leaf("Add", 14, total, other)
        return Function(SEQUENCE_MAP, b.build(total))


def test_a_definition_is_asked_for_once_for_each_combination_of_types():
    definitions = Definitions()
    program = prepare(interp_only(called(None, None)), definitions)
    assert definitions.asked == []
    for value in (f32(1, 2), f32(3, 4), i64(1, 2), f32(5)):
        same(program([value, value], RunContext()), [np.asarray(value + value)])
    assert definitions.asked == [
        (tensor("float32", 2),) * 2,
        (tensor("int64", 2),) * 2,
        (tensor("float32"),) * 2,
    ]


def test_an_absent_operand_has_no_type_and_an_empty_sequence_its_declared_one():
    definitions = Definitions()
    program = prepare(interp_only(called(Sequence(tensor("float32", 2)))), definitions)
    same(program([[]], RunContext()), [[]])
    same(program([[f32(1)]], RunContext()), [[f32(1)]])
    assert program([None], RunContext()) == [None]
    assert definitions.asked == [
        (Sequence(tensor("float32", 2)),),
        (Sequence(Tensor(DType.FLOAT32)),),
        (None,),
    ]


def test_attributes_of_the_step_are_bound():
    def expand(step, types):
        b = BlockBuilder("definition")
        p = b.param("p")
        alpha = Attribute("alpha", Kind.FLOAT, Reference("slope"))
        y = b.leaf("Elu", 6, p, attributes={"alpha": alpha})
        return Function(SEQUENCE_MAP, b.build(y), ("slope",), {"slope": attribute("slope", 1.0)})

    plain = prepare(interp_only(called(None)), expand)
    same(plain([f32(-np.inf)], RunContext()), [f32(-1)])
    block = called(None, attributes={"slope": attribute("slope", 3.0)})
    same(prepare(interp_only(block), expand)([f32(-np.inf)], RunContext()), [f32(-3)])


def test_paths_inside_a_definition():
    def expand(step, types):
        b = BlockBuilder("definition")
        p = b.param("p")
        return Function(SEQUENCE_MAP, b.build(b.leaf("Wibble", 1, p, domain="somewhere")))

    program = prepare(interp_only(called(None)), expand)
    with pytest.raises(Unsupported, match=r"main/sequencemap_0\.function/wibble_0"):
        program([f32(1)], RunContext())


def test_a_function_without_a_definition_for_the_types():
    program = prepare(interp_only(called(None)), lambda step, types: None)
    with pytest.raises(Unsupported, match=r"SequenceMap-17: .*not defined for \(int64\[2\]\)"):
        program([i64(1, 2)], RunContext())


@pytest.mark.parametrize("expand", [None, Definitions()])
def test_a_call_no_schema_defines_is_refused_beforehand(expand):
    main = BlockBuilder("main")
    y = Value("y")
    main.add(Call(FunctionId("local", "f"), (main.param("x"),), (y,)))
    with pytest.raises(Unsupported, match="main/f_0: local::f: no kernel"):
        prepare(interp_only(main.build(y)), expand)


def test_a_leaf_without_a_kernel_takes_its_definition(monkeypatch):
    monkeypatch.setattr(ops, "kernel", lambda *_: None)
    main = BlockBuilder("main")
    y = Value("y")
    main.add(Leaf("", "Relu", 14, (main.param("x"),), (y,)))
    definitions = Definitions()
    same(prepare(interp_only(main.build(y)), definitions)([f32(-2)], RunContext()), [f32(-2)])
    assert definitions.asked == [(tensor("float32"),)]
