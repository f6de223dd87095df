import numpy as np
import pytest

from tests.ops.node_suite import given, leaf_of, straight_cases
from treadle import ops
from treadle.errors import InvalidModel
from treadle.ir import (
    DType,
    Expression,
    Leaf,
    Sequence,
    Symbol,
    Tensor,
    Value,
    attribute,
    dtype_of,
    shape_admits,
    tensor,
)

DOUBLE = Expression((((), 1), (("T",), 2)))


def leaf(op, version, operands, results=1, **attributes):
    values = tuple(Value(f"i{k}") for k in range(len(operands)))
    made = tuple(Value(f"o{k}") for k in range(results))
    given_ = {name: attribute(name, value) for name, value in attributes.items()}
    return Leaf("", op, version, values, made, given_)


@pytest.mark.parametrize(
    ("op", "version", "operands", "constants", "wanted"),
    [
        ("Add", 14, [tensor("float32", 2, Symbol("T"))] * 2, [],
         tensor("float32", 2, Symbol("T"))),
        ("Add", 14, [tensor("float32", 2, DOUBLE)] * 2, [], tensor("float32", 2, DOUBLE)),
        ("Add", 14, [tensor("float32", 2), None], [], Tensor(DType.FLOAT32)),
        ("Reshape", 14, [tensor("int8", 2, 6), tensor("int64", 2)], [None, np.array([3, 4])],
         tensor("int8", 3, 4)),
        ("Reshape", 14, [tensor("int8", 2, 6), tensor("int64", 2)], [], tensor("int8", None, None)),
        ("SequenceConstruct", 11, [tensor("float32", 2)] * 2, [],
         Sequence(tensor("float32", 2))),
        ("Shape", 15, [Tensor(DType.FLOAT32)], [], tensor("int64", None)),
        ("Gelu", 20, [tensor("float16", 3)], [], tensor("float16", 3)),
        ("Swish", 24, [tensor("float16", 3)], [], tensor("float16", 3)),
        ("Multinomial", 7, [tensor("float32", 3, 4)], [], None),
    ],
)  # fmt: skip
def test_the_type_of_the_result(op, version, operands, constants, wanted):
    more = {"sample_size": 2} if op == "Multinomial" else {}
    (found,) = ops.result_types(leaf(op, version, operands, **more), operands, constants)
    assert found == (wanted if wanted is not None else tensor("int32", 3, 2))


def test_operands_that_do_not_fit_are_refused_with_the_reason():
    operands = [tensor("float32", 2, 3), tensor("float32", 4)]
    wanted = r"Add-14 refuses its operands \(float32\[2,3\], float32\[4\]\): .*Incompatible dim"
    with pytest.raises(InvalidModel, match=wanted):
        ops.result_types(leaf("Add", 14, operands), operands)


def test_an_unknown_operator_has_unknown_results():
    assert ops.result_types(leaf("NoSuch", 1, [], 2), []) == (None, None)


def test_an_absent_result_has_no_type():
    operands = [tensor("float32", 2)]
    dropped = Leaf("", "Dropout", 13, (Value("x"),), (None, Value("m")))
    assert ops.result_types(dropped, operands) == (None, tensor("bool", 2))


def test_values_have_types():
    assert ops.type_of(np.zeros((2, 3), np.int8)) == tensor("int8", 2, 3)
    assert ops.type_of([np.array(1.0)]) == Sequence(tensor("float64"))
    assert ops.type_of(None) is None


def test_the_rule_admits_every_result_of_the_backend_suite():
    wrong = []
    for case in straight_cases():
        if len(case.model.graph.node) > 1:
            continue
        (node,) = case.model.graph.node
        if any(a.HasField("g") for a in node.attribute):
            continue
        found = _inferred(case, node)
        wanted = [given(each) for each in case.data_sets[0][1]]
        named = [type_ for type_, name in zip(found, node.output, strict=True) if name]
        wrong += [
            f"{case.name}: {type_} for {ops.describe(value)}"
            for type_, value in zip(named, wanted, strict=True)
            if not _admits(type_, value)
        ]
    assert not wrong


def _inferred(case, node):
    values = iter(case.data_sets[0][0])
    operands = [given(next(values)) if name else None for name in node.input]
    arrays = [each if isinstance(each, np.ndarray) else None for each in operands]
    opsets = {ops.canonical(o.domain): o.version for o in case.model.opset_import}
    return ops.result_types(leaf_of(node, opsets), [ops.type_of(e) for e in operands], arrays)


def _admits(type_, value):
    if not isinstance(value, np.ndarray):
        return type_ is not None or value is None
    assert isinstance(type_, Tensor), type_
    return type_.dtype is dtype_of(value.dtype) and shape_admits(type_.shape, value.shape)
