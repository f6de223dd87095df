"""onnxruntime's own operators: the table equals its registry, and types are inferred."""

from pathlib import Path

import onnx.defs
import onnxruntime
import pytest

from treadle import ops
from treadle.ir import tensor
from treadle.ops import contrib

FILE = Path(contrib.__file__).with_name("contrib.txt")


def written() -> str:
    """The table, generated from the registry of the installed onnxruntime."""
    from onnxruntime.capi import onnxruntime_pybind11_state as binding

    standard = {
        (s.domain, s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history()
    }
    lines = [
        line_of(schema)
        for schema in binding.get_all_operator_schema()
        if (schema.domain, schema.name, schema.since_version) not in standard
    ]
    return "\n".join(sorted(lines, key=in_order)) + "\n"


def in_order(line):
    domain, name, version, *_ = line.split()
    return domain, name, int(version)


def line_of(schema) -> str:
    head = f"{schema.domain or 'ai.onnx'} {schema.name} {schema.since_version}"
    if schema.deprecated:
        return f"{head} withdrawn"
    return f"{head} {' '.join([*map(word, schema.inputs), '->', *map(word, schema.outputs)])}"


def word(formal) -> str:
    types = sorted(formal.types)
    return (types[0] if len(types) == 1 else formal.typeStr).replace(" ", "")


@pytest.mark.skipif(not onnxruntime.__version__.startswith("1.32."), reason="made with 1.32")
def test_the_table_is_onnxruntimes_registry(request):
    if request.config.getoption("--update-golden"):
        FILE.write_text(written(), encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == written()


@pytest.mark.parametrize(
    ("op", "opset", "version"),
    [
        ("LayerNormalization", 12, 1),
        ("SimplifiedLayerNormalization", 17, 1),
        ("Crop", 9, 1),
        ("Crop", 10, None),
        ("Relo", 12, None),
    ],
)
def test_the_version_of_an_operator_in_an_opset(op, opset, version):
    found = ops.contrib_operator("", op, opset)
    assert (None if found is None else found.version) == version


def test_types_follow_type_variables_and_fixed_types():
    operator = ops.contrib_operator("com.microsoft", "BiasSplitGelu", 1)
    halves = [tensor("float16", 2, 3, 8), tensor("float16", 8)]
    assert [str(t) for t in ops.contrib_types(operator, halves, 1)] == ["float16[*]"]
    operator = ops.contrib_operator("com.microsoft", "GreedySearch", 1)
    assert [str(t) for t in ops.contrib_types(operator, [tensor("int32", 1, 1)], 1)] == ["int32[*]"]


def test_elementwise_operators_keep_the_shape_of_their_first_input():
    operator = ops.contrib_operator("com.microsoft", "BiasGelu", 1)
    given = [tensor("float32", 2, None), tensor("float32", 3)]
    assert ops.contrib_types(operator, given, 1) == [tensor("float32", 2, None)]


@pytest.mark.parametrize(
    ("domain", "opset"), [("com.microsoft", 1), ("ai.onnx.ml", 5), ("", 26), ("nowhere", None)]
)
def test_the_opset_taken_for_a_domain_without_import(domain, opset):
    assert ops.assumed_opset(domain) == opset
