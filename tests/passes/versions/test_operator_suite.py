"""Cases of onnx's operator suite in older opsets give the answers that the suite expects."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import treadle
from tests.backend.suite import Feed, Sample, node_samples
from tests.values import TOLERANCES, differences
from treadle.formats.onnx import to_bytes
from treadle.ir import DType

OLDEST, OLDER, MIDDLE = 9, 13, 17
LOOSE = dict(TOLERANCES) | {
    DType.FLOAT32: (1e-4, 1e-5),
    DType.FLOAT16: (4e-3, 4e-3),
    DType.FLOAT64: (1e-7, 1e-7),
}
"""Decompositions round otherwise than the operators."""
RANDOM = {
    "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",
}  # fmt: skip
REFUSED_IN_13 = {
    "BitCast", "Cast", "CastLike", "DequantizeLinear", "ImageDecoder", "OptionalGetElement",
    "OptionalHasElement", "QuantizeLinear", "RegexFullMatch", "StringConcat", "StringSplit",
}  # fmt: skip
"""Operators with a case that has no form in opset 13, most for its element types."""
REFUSED = {
    OLDER: REFUSED_IN_13,
    OLDEST: REFUSED_IN_13
    | {"SequenceInsert", "SequenceMap", "SplitToSequence", "StringNormalizer"},
}  # fmt: skip
EACH = 3
"""How many cases of an operator are converted; all of them are, by tools.versions."""


FURTHER = (
    "affine_grid_3d", "attention_local_window_gqa_rank4_mask", "averagepool_2d_ceil",
    "averagepool_2d_ceil_last_window_starts_on_pad",
    "averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
    "batchnorm_epsilon", "clip_default_inbounds", "clip_default_int8_inbounds",
    "clip_default_int8_max", "cumsum_2d_int32", "depthtospace_crd_mode_example",
    "dequantizelinear_e4m3fn_float16", "dft_axis", "dft_irfft", "dft_irfft_opset19",
    "dropout_default_mask", "dropout_default_old",
    "einsum_batch_diagonal", "einsum_sum", "gridsample_bicubic_align_corners_1_additional_1",
    "gridsample_reflection_padding", "gridsample_volumetric_nearest_align_corners_1",
    "hardmax_axis_2", "isinf_float16", "lppool_2d_dilations", "maxpool_2d_dilations",
    "maxpool_3d_dilations_use_ref_impl", "mod_float64_mixed_sign_fmod_0", "mod_int64_fmod",
    "pow_types_int32_float32", "reduce_min_bool_inputs",
    "reduce_min_default_axes_keepdims_example", "reversesequence_batch", "roialign_mode_max",
    "rotary_embedding_no_position_ids_rotary_dim", "spacetodepth_crd_mode_example",
    "top_k_same_values_largest",
)  # fmt: skip
"""Cases that take other branches of the adapters than the first cases of their operators."""
OF_CONSTANTS = (
    "center_crop_pad_crop_negative_axes_hwc", "col2im_dilations", "dft_rfft",
    "gridsample_aligncorners_true", "reduce_sum_empty_axes_input_noop",
    "reshape_allowzero_reordered", "resize_tf_crop_and_resize",
    "resize_upsample_scales_nearest_axes_3_2", "resize_upsample_sizes_nearest_not_smaller",
    "stft", "stft_with_window", "top_k_negative_axis", "wrap_pad",
)  # fmt: skip
"""Cases that have an older form only if their operands, but for the first, are constants."""
NO_FORM = {
    "equal_string": "no older operator compares strings",
    "identity_sequence": "does not take seq",
    "if_seq": "the opset has no sequences",
    "strnormalizer_export_monday_casesensintive_lower": "the case of letters",
}


def _by_operator() -> Mapping[str, Sequence[Sample]]:
    """Samples of standard operators by operator, the ones with unlike attributes first."""
    found: dict[str, dict[tuple[str, ...], Sample]] = {}
    for sample in node_samples().values():
        graph = sample.model.graph
        if (
            len(graph.node) == 1
            and graph.node[0].domain == ""
            and graph.node[0].op_type not in RANDOM
        ):
            node = graph.node[0]
            form = (*sorted(each.name for each in node.attribute), str(len(node.input)))
            found.setdefault(node.op_type, {}).setdefault(form, sample)
    return {op: list(forms.values())[:EACH] for op, forms in sorted(found.items())}


SAMPLES = _by_operator()


@pytest.mark.parametrize("op", SAMPLES)
def test_the_operators_older_forms_give_the_same_answer(op: str) -> None:
    for sample, opset in itertools.product(SAMPLES[op], (OLDEST, OLDER)):
        try:
            converted = treadle.convert_version(sample.model, opset)
        except treadle.Unsupported:
            assert op in REFUSED[opset], f"opset {opset}"
        else:
            assert _agrees(sample, converted), f"opset {opset}"


def _with_constants(sample: Sample) -> Sample:
    """The case with every operand but the first as a constant."""
    model = onnx.ModelProto()
    model.CopyFrom(sample.model)
    names = [name for name in model.graph.node[0].input if name]
    first, *others = zip(names, sample.feeds[0].inputs, strict=True)
    for name, array in others:
        assert isinstance(array, np.ndarray)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    del model.graph.input[1:]
    return replace(sample, model=model, feeds=[Feed([first[1]], sample.feeds[0].outputs)])


@pytest.mark.parametrize("name", FURTHER)
def test_a_case_comes_back_from_an_older_opset_with_its_answer(name: str) -> None:
    _expect_round_trips(node_samples()[f"test_{name}"], OLDEST, OLDER)


@pytest.mark.parametrize("name", OF_CONSTANTS)
def test_a_case_of_constants_comes_back_from_an_older_opset(name: str) -> None:
    _expect_round_trips(_with_constants(node_samples()[f"test_{name}"]), OLDEST, OLDER, MIDDLE)


@pytest.mark.parametrize("name", NO_FORM)
def test_an_operator_without_an_older_form_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(treadle.Unsupported, match=NO_FORM[name]):
        treadle.convert_version(node_samples()[f"test_{name}"].model, OLDEST)


def _expect_round_trips(sample: Sample, *opsets: int) -> None:
    (own,) = (entry.version for entry in sample.model.opset_import if not entry.domain)
    op = sample.model.graph.node[0].op_type
    for opset in opsets:
        try:
            older = treadle.convert_version(sample.model, opset)
        except treadle.Unsupported:
            assert op in REFUSED[opset], f"opset {opset}"
            continue
        assert _agrees(sample, older), f"opset {opset}"
        assert _agrees(sample, treadle.convert_version(older, own)), f"{opset} and back"


def _agrees(sample: Sample, converted: treadle.Model) -> bool:
    onnx.checker.check_model(onnx.ModelProto.FromString(to_bytes(converted)))
    session = treadle.InferenceSession(converted, engines=["interp"])
    names = [value.name for value in session.get_inputs()]
    feed = sample.feeds[0]
    found = session.run(None, dict(zip(names, feed.inputs, strict=False)))
    loose = {dtype: (max(sample.rtol, r), max(sample.atol, a)) for dtype, (r, a) in LOOSE.items()}
    pairs = zip(found, feed.outputs, strict=True)
    return not any(differences(got, wanted, tolerances=loose) for got, wanted in pairs)
