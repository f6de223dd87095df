"""Every operator that can be written: onnx's node cases as IR, read back and run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx.backend.test.case.test_case import TestCase

import treadle
from tests.formats.openvino.write.written import run, text, write
from tests.ops.node_suite import differences, given, node_cases
from tools.openvino.oracle import Oracle
from treadle import ir, ops
from treadle.api import _lowered
from treadle.errors import Unsupported
from treadle.formats import openvino
from treadle.formats.openvino.write.operators import ROWS

OTHERWISE = {
    "test_averagepool_2d_dilations": "dilations of AvgPool-16 are not read",
    "test_averagepool_3d_dilations_small": "dilations of AvgPool-16 are not read",
    "test_bernoulli": "random numbers",
    "test_lppool_2d_dilations": "dilations of AvgPool-16 are not read",
    "test_onehot_out_of_range_indices": "OneHot of IR counts from the end, and all off beyond it",
    "test_reversesequence_bfloat16": "opset 21, which IR is read as, has it not of bfloat16",
    "test_spacetodepth_crd_mode_example": "SpaceToDepth by depth is not read",
}
"""Cases that are not run, and why."""
NO_CASE = {"Constant", "GlobalLpPool", "Scatter", "SequenceLength", "Upsample"}
"""Operators onnx has no case for that can be written: `OWN` shows them."""
CONSTANT = {"Resize"}
"""Operators whose computed operands are written and not read."""
_EACH = 3


@cache
def _by_operator() -> dict[str, list[TestCase]]:
    found: dict[str, list[TestCase]] = {}
    for case in node_cases():
        nodes = case.model.graph.node
        if len(nodes) == 1 and case.name not in OTHERWISE:
            found.setdefault(nodes[0].op_type, []).append(case)
    return found


@cache
def _by_name() -> dict[str, TestCase]:
    return {case.name: case for case in node_cases()}


class Shown(NamedTuple):
    """A case that can be written: its model, and what it is fed."""

    case: TestCase
    model: onnx.ModelProto
    feeds: dict[str, Any]


@cache
def _writable(operator: str) -> tuple[Shown, ...]:
    """The first cases of an operator that are not refused as they are, or with constants."""
    chosen: list[Shown] = []
    for case in _by_operator().get(operator, ()):
        fed_first = (1,) if operator in CONSTANT else (99, 1, 2)
        forms = (shown for fed in fed_first if not _is_refused((shown := _shown(case, fed)).model))
        found = next(forms, None)
        if found is not None:
            chosen.append(found)
        if len(chosen) == _EACH:
            break
    return tuple(chosen)


def _shown(case: TestCase, fed: int) -> Shown:
    """The case with inputs from a place on as constants."""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    names = [value.name for value in model.graph.input]
    values = dict(zip(names, map(given, case.data_sets[0][0]), strict=False))
    for name in names[fed:]:
        tensor = ops.tensor_to_proto(ir.Literal.of(values.pop(name), name))
        model.graph.initializer.append(tensor)
    del model.graph.input[fed:]
    return Shown(case, model, values)


def _is_refused(model: onnx.ModelProto) -> bool:
    try:
        openvino.write_net(_lowered(treadle.load(model)))
    except Unsupported:
        return True
    return False


OPERATORS = sorted({op for _, op in ROWS} - NO_CASE)


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_written_operator_has_the_same_outputs(operator: str, tmp_path: Path) -> None:
    shown = _writable(operator)
    assert shown, f"no case of onnx shows {operator}: write one"
    for each in shown:
        treadle.save(each.model, tmp_path / "model.xml")
        assert _differences(each, tmp_path / "model.xml") == [], each.case.name


FURTHER = {
    99: (
        "affine_grid_2d_align_corners", "argmin_keepdims_example_select_last_index",
        "causal_conv_with_state_with_bias_and_past_state", "convtranspose_autopad_same",
        "gemm_all_attributes", "pow_types_float32_int64", "pow_types_int32_float32",
        "reduce_max_empty_set_bool", "split_2d_uneven_split_opset18", "wrap_pad",
    ),
    1: (
        "constant_pad_axes", "convtranspose_group_2_image_3", "reduce_sum_empty_axes_input_noop",
        "resize_downsample_sizes_nearest_not_smaller", "scatter_elements_with_axis",
        "scatternd_min", "tile_precomputed", "triu_zero",
        "wrap_pad",
    ),
}  # fmt: skip
"""Other forms of operators, by the number of inputs that are fed; the others are constants."""


@pytest.mark.parametrize(
    ("fed", "name"), [(f, name) for f, names in FURTHER.items() for name in names]
)
def test_another_form_of_an_operator_has_the_same_outputs(
    fed: int, name: str, tmp_path: Path
) -> None:
    shown = _shown(_by_name()[f"test_{name}"], fed)
    treadle.save(shown.model, tmp_path / "model.xml")
    assert _differences(shown, tmp_path / "model.xml") == []


REFUSED = {
    "bitshift_right_int32_negative_shift": "shifts signed integers differently",
    "cast_FLOAT16_to_INT2": "OpenVINO has no int2",
    "gridsample_volumetric_nearest_align_corners_0": "samples only images of rank 4",
    "identity_sequence": "OpenVINO IR holds tensors only",
    "maxpool_with_argmax_2d_precomputed_strides": "indices in column order have no form",
    "quantizelinear_blocked_symmetric": "block-wise scales have no form",
    "quantizelinear_int4": "quantization to int4 has no form",
    "resize_downsample_scales_cubic_A_n0p5_exclude_outside": "exclude_outside has no form",
    "resize_downsample_scales_cubic_align_corners": "factors that give fractional lengths",
    "resize_downsample_scales_linear_antialias": "antialias has no form",
    "resize_tf_crop_and_resize_extrapolation_value": "tf_crop_and_resize has no form",
    "resize_upsample_scales_linear_half_pixel_symmetric": "half_pixel_symmetric has no form",
    "training_dropout_default_mask": "it is in training mode",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_form_without_a_layer_is_refused_with_the_reason(name: str) -> None:
    model = _shown(_by_name()[f"test_{name}"], 1).model
    with pytest.raises(Unsupported, match=REFUSED[name]):
        openvino.write_net(_lowered(treadle.load(model)))


def _differences(shown: Shown, path: Path) -> list[str]:
    case = shown.case
    session = treadle.InferenceSession(path, engines=["interp"])
    known = {value.name for value in session.get_inputs()}
    made = session.run(None, {name: v for name, v in shown.feeds.items() if name in known})
    wanted: Sequence[object] = [given(value) for value in case.data_sets[0][1]]
    kept = [k for k, value in enumerate(case.model.graph.output) if value.name]
    rtol, atol = max(case.rtol, 1e-3), max(case.atol, 1e-5)
    return [
        found
        for place, got in zip(kept, made, strict=True)
        for found in differences(got, wanted[place], rtol, atol)
    ]


def test_integer_sums_wrap_as_in_onnx(tmp_path: Path) -> None:
    body = "s = Add(a, b) d = Sub(a, b) p = Mul(a, b)"
    for dtype, limits in ((np.uint8, (250, 10)), (np.int8, (-120, 100))):
        word = f"{np.dtype(dtype).name}[2]"
        model = text(f"{word} a, {word} b", f"{word} s, {word} d, {word} p", body)
        feeds = {"a": np.array([limits[0], 3], dtype), "b": np.array([limits[1], 4], dtype)}
        for one, two in zip(run(write(model, tmp_path), feeds), run(model, feeds), strict=True):
            np.testing.assert_array_equal(one, two)


OLD = """<ir_version: 4, opset_import: ["" : 9]>
g (float[1, 1, 2, 2] x, int64[1, 1, 1, 2] i) => (float[1, 1, 4, 4] y, float[1, 1, 2, 2] z)
{
  s = Constant <value = float[4] {1, 1, 2, 2}> ()
  y = Upsample <mode = "nearest"> (x, s)
  u = Constant <value = float[1, 1, 1, 2] {7, 8}> ()
  z = Scatter <axis = 2> (x, i, u)
}"""
LENGTHS = """<ir_version: 3, opset_import: ["" : 8]>
g (int64[2] n, float[2, 3] s, float[2, 4, 3] x) => (float[2, 3] t, float[2, 4, 3] y)
{
  t, y = Scan <num_scan_inputs = 1, body = b (float[3] a, float[3] e) => (float[3] c, float[3] d)
    { c = Add(a, e) d = Identity(c) }> (n, s, x)
}"""
ROW = np.array([[3.0, 4.0]], np.float32)
OWN: dict[str, tuple[str, dict[str, np.ndarray]]] = {
    op: (text("float[1, 2] x", "y", body), {"x": ROW})
    for op, body in {
        "Dropout": "y, mask = Dropout(x)",
        "Constant": "y = Constant <value = float[2] {1, 2}> ()",
        "Constant of a list": "y = Constant <value_floats = [1.0, 2.0]> ()",
        "ConstantOfShape": "n = Constant <value_ints = [400, 400]> () y = ConstantOfShape(n)",
        "GlobalLpPool": (
            "n = Constant <value_ints = [0]> () w = Unsqueeze(x, n) y = GlobalLpPool(w)"
        ),
        "GlobalLpPool of p 3": (
            "n = Constant <value_ints = [0]> () w = Unsqueeze(x, n) y = GlobalLpPool <p = 3> (w)"
        ),
    }.items()
}
OWN["Upsample, Scatter"] = (
    OLD,
    {
        "x": np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2),
        "i": np.array([1, 0]).reshape(1, 1, 1, 2),
    },
)
OWN["SequenceLength, of Scan-8"] = (
    LENGTHS,
    {
        "n": np.array([2, 4]),
        "s": np.ones((2, 3), np.float32),
        "x": np.arange(24, dtype=np.float32).reshape(2, 4, 3),
    },
)


@pytest.mark.parametrize("name", OWN)
def test_operators_without_a_node_case(name: str, tmp_path: Path) -> None:
    model, feeds = OWN[name]
    for one, two in zip(run(write(model, tmp_path), feeds), run(model, feeds), strict=True):
        np.testing.assert_allclose(one, two, 1e-6)


def test_every_operator_without_a_case_is_shown() -> None:
    written: set[str] = set()
    for model, _ in OWN.values():
        lowered = _lowered(treadle.load(model))
        written |= {visit.step.op for visit in ir.walk(lowered) if isinstance(visit.step, ir.Leaf)}
    assert written >= NO_CASE


STEEP = """<ir_version: 10, opset_import: ["" : 21]>
g (float[5] x) => (float[5] y)
{
  e = Constant <value = float[1] {-100000}> ()
  y = Pow(x, e)
}"""


def test_steep_powers_are_as_exact_as_flat_ones(oracle: Oracle, tmp_path: Path) -> None:
    """OpenVINO multiplies for a constant whole exponent, 17 times here, and rounds each time."""
    x = (1 + np.array([0, 1, 2.5, 7, np.nan]) * 1e-6).astype(np.float32)
    wanted = (x.astype(np.float64) ** -1e5).astype(np.float32)
    path = write(STEEP, tmp_path)
    np.testing.assert_allclose(run(path, {"x": x})[0], wanted, 1e-6)
    (answer,) = oracle.ask(path, [{"x": x}])
    assert isinstance(answer, dict), answer
    np.testing.assert_allclose(answer["y"], wanted, 1e-6)
