"""onnxruntime's own operators with operands left out, without elements, and attributes at limits.

A mistake here ends the test process, which is a failure as well.
"""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tools.contrib_forms import FORMS
from tools.contrib_nodes import filled, model_of, nodes, outcome
from treadle.checks.runtimes.extents import ExtentNeed, extent_demands, extents_meet

_EVERY = 97


def whole(operator):
    """The node of the tool with all operands."""
    found = {name: form for name, form in nodes([operator])}
    return found[f"{operator} whole as it is"]


def changed(operator, position, value, **attributes):
    given, operands = whole(operator)
    made = [*operands[:position], value, *operands[position + 1 :]]
    return outcome(operator, ({**given, **attributes}, made))


def test_some_changed_nodes_of_every_operator():
    for number, (name, form) in enumerate(nodes()):
        if number % _EVERY == 0:
            outcome(name.partition(" ")[0], form)


@pytest.mark.parametrize("operator", ["AttnLSTM", "Attention", "QGemm", "QMoE", "QLinearConcat"])
def test_a_node_that_fits_is_answered(operator):
    assert outcome(operator, whole(operator)) == ""


@pytest.mark.parametrize(
    ("operator", "position"),
    [
        *(("AttnLSTM", k) for k in (8, 9, 10, 11)),
        *(("QLinearConcat", k) for k in (2, 3, 4, 5, 6, 7)),
        ("QMoE", 3),
        ("QMoE", 6),
        ("QGemm", 0),
    ],
)
def test_operands_left_out(operator, position):
    assert operator in changed(operator, position, None)


@pytest.mark.parametrize(
    "operator", ["BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"]
)
def test_a_decoder_generates_tokens(operator):
    assert outcome(operator, whole(operator)) == ""


@pytest.mark.parametrize("shape", [(5,), (), (2, 1, 1)])
def test_first_tokens_of_another_rank_do_not_reach_the_kernel(shape):
    first = filled(np.dtype(np.int32), shape)
    assert "Reshape" in changed("WhisperBeamSearch", 10, first)


@pytest.mark.parametrize(
    ("operator", "position", "shape"),
    [
        ("AttnLSTM", 0, (0, 2, 4)),
        ("DynamicQuantizeLSTM", 0, (3, 0, 4)),
        ("EmbedLayerNormalization", 8, (3,)),
        ("EmbedLayerNormalization", 8, ()),
        ("QAttention", 0, (0, 4, 8)),
        ("RotaryEmbedding", 0, (1, 2, 3, 0)),
        ("SkipLayerNormalization", 1, (0, 3, 4)),
        ("SkipSimplifiedLayerNormalization", 1, (0, 3, 4)),
        ("WhisperBeamSearch", 0, (65, 3, 2)),
        ("WhisperBeamSearch", 10, (3, 2)),
    ],
)
def test_operands_of_other_extents(operator, position, shape):
    value = whole(operator)[1][position]
    assert changed(operator, position, filled(value.dtype, shape)) != ""


@pytest.mark.parametrize("heads", [2**31 - 1, 2**32, -(2**32), 2**62, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize(
    "operator",
    ["Attention", "GroupQueryAttention", "MultiHeadAttention", "QAttention", "SparseAttention"],
)
def test_too_many_heads(operator, heads):
    given, operands = whole(operator)
    for name in {"num_heads", "kv_num_heads"} & set(given):
        told = outcome(operator, ({**given, name: heads}, operands))
        assert f"crashes the process if {name} is {heads}" in told


@pytest.mark.parametrize("shape", [(1, 1, 4, 2), (1, 2, 1, 2), (1, 0, 4, 2)])
@pytest.mark.parametrize("is_declared", [False, True])
def test_a_pool_over_channels_last_without_a_window(shape, is_declared):
    given, operands = whole("QLinearAveragePool")
    x = filled(operands[0].dtype, shape)
    attributes = {**given, "channels_last": 1}
    if not is_declared:
        assert outcome("QLinearAveragePool", (attributes, [x, *operands[1:]])) != ""
        return
    extents = ",".join(map(str, shape))
    text = f"""<ir_version: 10, opset_import: ["" : 17, "com.microsoft" : 1]>
        g (uint8[{extents}] x, float s, uint8 z) => (uint8[] y) {{
            y = com.microsoft.QLinearAveragePool <kernel_shape = [2, 2], channels_last = 1>
                (x, s, z, s, z) }}"""
    with pytest.raises(treadle.TreadleError, match="has no room for one window"):
        treadle.InferenceSession(text)


@pytest.mark.parametrize("attributes", [{"pads": [1, 1, 1, 1]}, {"kernel_shape": [1, 1]}])
def test_a_pool_over_channels_last_with_one_window(attributes):
    given, operands = whole("QLinearAveragePool")
    x = filled(operands[0].dtype, (1, 1, 1, 2))
    asked = {**given, "channels_last": 1, **attributes}
    assert outcome("QLinearAveragePool", (asked, [x, *operands[1:]])) == ""


def test_what_is_known_of_the_extents_decides():
    operator = "QLinearAveragePool"
    model = treadle.load(
        model_of(operator, {"kernel_shape": [3, 2], "channels_last": 1}, whole(operator)[1])
    )
    (step,) = model.main.steps
    (demand,) = extent_demands(step)
    assert demand.need is ExtentNeed.WINDOW
    wanted = {(1, 3, 2, 1): True, (1, None, 2, 1): None, (1, 2, None, 1): False, (1, 3): False}
    assert {shape: extents_meet(demand, [shape]) for shape in wanted} == wanted
    assert extents_meet(demand, [None]) is None


def test_every_operator_with_a_kernel_has_a_form():
    from onnxruntime.capi import onnxruntime_pybind11_state as binding

    kernels = binding.get_all_opkernel_def()
    known = {
        each.op_name
        for each in kernels
        if each.domain == "com.microsoft" and each.provider == "CPUExecutionProvider"
    }
    assert known - set(FORMS) == {"SparseToDenseMatMul"}, "its first operand is a sparse tensor"
