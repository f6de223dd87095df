"""Type strings: how the standard's schemas spell types, and tensors read back from them."""

import pytest

from treadle import ops
from treadle.ir import DType, Map, Optional, Sequence, Sparse, Tensor, tensor

SPELLED = {
    tensor("float32", 2): "tensor(float)",
    tensor("float64"): "tensor(double)",
    Tensor(DType.BFLOAT16): "tensor(bfloat16)",
    Sparse(DType.INT8): "sparse_tensor(int8)",
    Sequence(tensor("int64")): "seq(tensor(int64))",
    Optional(Sequence(tensor("bool"))): "optional(seq(tensor(bool)))",
    Map(DType.STRING, tensor("float32")): "map(string,tensor(float))",
}


@pytest.mark.parametrize("type_", SPELLED)
def test_a_type_is_spelled_as_in_schemas(type_):
    assert ops.type_string(type_) == SPELLED[type_]
    assert ops.type_string(type_, "?") == SPELLED[type_]


@pytest.mark.parametrize(
    ("type_", "shown"),
    [
        (None, "?"),
        (Tensor(None), "tensor(?)"),
        (Sequence(None), "seq(?)"),
        (Optional(Tensor(None)), "optional(tensor(?))"),
        (Map(DType.INT64, None), "map(int64,?)"),
    ],
)
def test_the_string_of_a_partly_unknown_type(type_, shown):
    assert ops.type_string(type_) is None
    assert ops.type_string(type_, "?") == shown


@pytest.mark.parametrize("dtype", DType)
def test_a_tensor_is_read_back(dtype):
    assert ops.tensor_of_string(ops.type_string(Tensor(dtype))) == Tensor(dtype)
    assert ops.tensor_of_string("seq(tensor(float))") is None
