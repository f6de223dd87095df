import pytest

from treadle import ops
from treadle.ir import Kind


@pytest.mark.parametrize(
    ("op", "opset", "version"),
    [
        ("Add", 1, 1), ("Add", 6, 6), ("Add", 12, 7), ("Add", 28, 14), ("Loop", 12, 11),
        ("Gelu", 19, None), ("Upsample", 11, 10), ("NoSuch", 20, None), ("Softmax", 12, 11),
    ],
)  # fmt: skip
def test_the_version_in_force(op, opset, version):
    assert ops.since_version("", op, opset) == version
    assert ops.since_version("ai.onnx", op, opset) == version


def test_domains():
    assert ops.newest_opset("") >= 28
    assert ops.newest_opset("ai.onnx.ml") >= 5
    assert ops.newest_opset("nobody") == 0
    assert ops.since_version("nobody", "Add", 7) is None
    assert ops.known_operators("")["Scan"][:3] == (8, 9, 11)


def test_a_schema_says_inputs_outputs_and_attributes():
    found = ops.schema("", "BatchNormalization", 15)
    assert [formal.name for formal in found.inputs][:2] == ["X", "scale"]
    assert [formal.option for formal in found.outputs] == ["single", "optional", "optional"]
    assert (found.min_inputs, found.max_inputs, found.min_outputs) == (5, 5, 1)
    epsilon = found.attributes["epsilon"]
    assert (epsilon.kind, epsilon.required) == (Kind.FLOAT, False)
    assert epsilon.default.value == pytest.approx(1e-5)
    assert "tensor(bfloat16)" in found.inputs[0].types


def test_variadic_and_deprecated_and_function():
    loop = ops.schema("", "Loop", 13)
    assert (loop.inputs[2].option, loop.inputs[2].homogeneous, loop.inputs[2].min_arity) == (
        "variadic", False, 0,
    )  # fmt: skip
    assert loop.attributes["body"].required
    assert ops.schema("", "Upsample", 10).deprecated
    assert ops.schema("", "Relu", 14).is_function
    assert ops.schema("", "Clip", 13).depends_on_context
    assert not ops.schema("", "RandomUniform", 1).is_deterministic


def test_only_exact_versions_have_a_schema():
    assert ops.schema("", "Add", 8) is None
    assert ops.schema("", "Add", 7).version == 7


def test_every_schema_of_the_standard_reads():
    for domain in ("", "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview"):
        for op, versions in ops.known_operators(domain).items():
            for version in versions:
                assert ops.schema(domain, op, version).name == op
