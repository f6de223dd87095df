"""Cases of onnx's operator suite in older opsets give the answers that the suite expects."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import onnx
import pytest

import treadle
from tests.backend.suite import Sample, node_samples
from tests.values import TOLERANCES, differences
from treadle.formats.onnx import to_bytes
from treadle.ir import DType

OLDEST, OLDER = 9, 13
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
    "BitCast", "Cast", "CastLike", "Col2Im", "DeformConv", "DequantizeLinear", "ImageDecoder",
    "MelWeightMatrix", "OptionalGetElement", "OptionalHasElement", "QuantizeLinear",
    "RegexFullMatch", "STFT", "StringConcat", "StringSplit",
}  # fmt: skip
"""Operators with a case that has no form in opset 13, most for its element types."""
REFUSED = {
    OLDER: REFUSED_IN_13,
    OLDEST: REFUSED_IN_13
    | {
        "AffineGrid", "Det", "Mod", "NonMaxSuppression", "Pad", "Resize", "RoiAlign",
        "SequenceInsert", "SequenceMap", "Slice", "SplitToSequence", "StringNormalizer", "TopK",
        "Unique",
    },
}  # fmt: skip
EACH = 3
"""How many cases of an operator are converted; all of them are, by tools.versions."""


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


def _agrees(sample: Sample, converted: treadle.Model) -> bool:
    onnx.checker.check_model(onnx.ModelProto.FromString(to_bytes(converted)))
    session = treadle.InferenceSession(converted, engines=["interp"])
    names = [value.name for value in session.get_inputs()]
    feed = sample.feeds[0]
    found = session.run(None, dict(zip(names, feed.inputs, strict=False)))
    loose = {dtype: (max(sample.rtol, r), max(sample.atol, a)) for dtype, (r, a) in LOOSE.items()}
    pairs = zip(found, feed.outputs, strict=True)
    return not any(differences(got, wanted, tolerances=loose) for got, wanted in pairs)
