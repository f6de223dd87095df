import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from tests.ops.node_suite import straight_cases
from treadle import ops
from treadle.errors import DataError, LoadError
from treadle.ir import (
    Attribute,
    DType,
    Expression,
    External,
    Kind,
    Leaf,
    Literal,
    Map,
    Optional,
    Range,
    Reference,
    Sequence,
    Sparse,
    SparseArray,
    Symbol,
    Tensor,
    Value,
)

SHAPES = [(), (0,), (3,), (2, 3), (5,), (8,), (2, 0, 4)]


def some(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    if dtype is DType.STRING:
        words = np.array(["", "é", "three"] * 8, object)
        return words[: int(np.prod(shape))].reshape(shape)
    if dtype.bits % 8:
        bits = np.asarray(rng.integers(0, 1 << dtype.bits, shape)).astype(np.uint8)
        return bits.view(dtype.numpy)
    return np.asarray(rng.integers(0, 2, shape)).astype(np.float32).astype(dtype.numpy)


def same(left: np.ndarray, right: np.ndarray) -> bool:
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype == object:
        return bool((left == right).all())
    return left.tobytes() == right.tobytes()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DType, ids=str)
def test_a_tensor_survives_raw_and_typed_fields(dtype, shape, rng):
    array = some(rng, dtype, shape)
    proto = ops.tensor_to_proto(Literal(array, dtype, "t"))
    assert same(ops.tensor_from_proto(proto).array, array)
    assert same(numpy_helper.to_array(proto), array)
    typed = helper.make_tensor("t", proto.data_type, shape, array.reshape(-1).tolist())
    if dtype is not DType.FLOAT8E8M0:  # the helper has no zero of its own for it
        assert same(ops.tensor_from_proto(typed).array, array)
    if dtype is not DType.STRING:
        assert numpy_helper.from_array(array, "t").raw_data == proto.raw_data


def test_an_unpacked_tensor_is_a_view_of_the_bytes():
    data = np.arange(6, dtype=np.float32).tobytes()
    assert np.shares_memory(
        ops.array_from_bytes(data, DType.FLOAT32, (2, 3)), np.frombuffer(data, np.uint8)
    )


@pytest.mark.parametrize(
    ("proto", "words"),
    [
        (TensorProto(name="w", data_type=1, dims=[3], raw_data=b"1234"), "12 bytes, 4 are given"),
        (TensorProto(name="w", data_type=1, dims=[3], float_data=[1.0]), "3 elements, 1 are given"),
        (TensorProto(name="w", data_type=1, dims=[-3], float_data=[1.0]), "negative dim"),
        (TensorProto(name="w", dims=[1]), "no element type"),
        (TensorProto(name="w", data_type=1, dims=[1], data_location=1), "external"),
    ],
)
def test_a_broken_tensor_is_a_data_error(proto, words):
    with pytest.raises(DataError, match=words):
        ops.tensor_from_proto(proto)


def test_an_unknown_element_type_is_a_load_error():
    with pytest.raises(LoadError, match="element type 99"):
        ops.tensor_from_proto(TensorProto(name="w", data_type=99, dims=[]))


def test_text_that_is_no_utf8_survives():
    proto = TensorProto(name="w", data_type=TensorProto.STRING, dims=[1], string_data=[b"\xff\xfe"])
    assert ops.tensor_to_proto(ops.tensor_from_proto(proto)) == proto


def test_an_external_tensor_keeps_its_place_and_carries_no_data():
    entries = (("location", "w.bin"), ("offset", "16"), ("length", "8"))
    literal = Literal(np.zeros(2, np.float32), DType.FLOAT32, "w", External("w.bin", entries))
    proto = ops.tensor_to_proto(literal)
    assert ops.is_external(proto)
    assert not proto.raw_data
    again = ops.tensor_from_proto(proto, literal.array)
    assert again.external == literal.external
    assert again.array is literal.array


ATTRIBUTES = [
    Attribute("a", Kind.FLOAT, float(np.float32(0.1))),
    Attribute("a", Kind.INT, -(2**63)),
    Attribute("a", Kind.STRING, b"\xff"),
    Attribute("a", Kind.FLOATS, (1.5, float("inf"))),
    Attribute("a", Kind.INTS, ()),
    Attribute("a", Kind.STRINGS, (b"", b"x")),
    Attribute("a", Kind.TYPE, Sequence(Tensor(DType.INT4, (2, Symbol("N"))))),
    Attribute("a", Kind.TYPES, (Optional(Tensor(DType.STRING, None)), Map(DType.INT64, None))),
    Attribute("a", Kind.INT, Reference("outer")),
    Attribute("a", Kind.GRAPH, Reference("outer")),
]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda a: f"{a.kind.value}-{a.value}"[:30])
def test_an_attribute_survives(attribute):
    again = ops.attribute_from_proto(ops.attribute_to_proto(attribute))
    assert (again.name, again.kind, again.value) == (
        attribute.name,
        attribute.kind,
        attribute.value,
    )


def test_tensors_in_attributes_survive():
    literal = Literal.of(np.arange(3), "t")
    sparse = SparseArray(literal, Literal.of(np.array([0, 2, 5])), (2, 3))
    for kind, value in [(Kind.TENSORS, (literal, literal)), (Kind.SPARSES, (sparse,))]:
        again = ops.attribute_from_proto(ops.attribute_to_proto(Attribute("a", kind, value)))
        assert len(again.value) == len(value)
    again = ops.attribute_from_proto(ops.attribute_to_proto(Attribute("a", Kind.SPARSE, sparse)))
    assert (again.value.dense() == [[0, 0, 1], [0, 0, 2]]).all()


def test_an_attribute_without_a_type_is_known_by_its_field():
    assert ops.attribute_kind(AttributeProto(name="a", ints=[1, 2])) is Kind.INTS
    with pytest.raises(LoadError, match="neither a type"):
        ops.attribute_kind(AttributeProto(name="a"))


TYPES = [
    None,
    Tensor(DType.FLOAT16, (2, Symbol("T"), None)),
    Tensor(None, None),
    Tensor(DType.BOOL, ()),
    Sparse(DType.FLOAT32, (3,)),
    Sequence(None),
    Sequence(Optional(Tensor(DType.UINT2, None))),
    Map(DType.STRING, Tensor(DType.FLOAT32, None)),
]


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_a_type_survives(type_):
    assert ops.type_from_proto(ops.type_to_proto(type_)) == type_


def test_expressions_become_symbols_and_ranges_unknown():
    proto = ops.type_to_proto(Tensor(DType.INT8, (Expression((((), 1), (("T",), 2))), Range(1, 4))))
    assert ops.type_from_proto(proto) == Tensor(DType.INT8, (Symbol("2*T+1"), None))


def test_every_type_and_attribute_of_the_backend_suite_survives():
    for case in straight_cases():
        graph = case.model.graph
        for value in [*graph.input, *graph.output]:
            assert ops.type_to_proto(ops.type_from_proto(value.type)) == value.type
        for attribute in (a for node in graph.node for a in node.attribute):
            if attribute.type in (AttributeProto.TENSOR, AttributeProto.GRAPH):
                continue
            assert ops.attribute_to_proto(ops.attribute_from_proto(attribute)) == attribute


def test_absent_operands_are_written_as_empty_names():
    x = Value("x")
    leaf = Leaf("", "Clip", 13, (x, None, x), (Value("y"), None))
    node = ops.leaf_to_proto(leaf)
    assert list(node.input) == ["i0", "", "i2"]
    assert list(node.output) == ["o0", ""]


def test_run_time_arrays_have_the_dtypes_of_the_table():
    for dtype in DType:
        number = ops.element_to_proto(dtype)
        assert np.dtype(helper.tensor_dtype_to_np_dtype(number)) == dtype.numpy
    assert DType.BFLOAT16.numpy == np.dtype(ml_dtypes.bfloat16)
    assert set(map(ops.element_to_proto, DType)) == set(onnx.TensorProto.DataType.values()) - {0}
