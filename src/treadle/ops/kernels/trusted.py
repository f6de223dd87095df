"""The versions for which onnx.reference's implementation is used, each one tested.

All are used unchanged but Attention, which gives its product of Q and K after the soft cap also
where `qk_matmul_output_mode` 0 asks for the product itself (Operators.md, Attention), and those
that give attributes without a meaning one, which are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from treadle.ops.kernels.common import each_once
from treadle.ops.kernels.onnx_reference import reference_kernel, trust
from treadle.ops.kernels.registry import (
    ML,
    Attributes,
    Body,
    Kernel,
    Operands,
    Results,
    register,
)

TRAINING = "ai.onnx.preview.training"
_PRODUCT = 3
"""The output of Attention that is its product of Q and K."""
_PRECISIONS = (1, 10, 11, 16)
"""The element types of floating point that a softmax may be computed in."""
_SHOWN = range(4)


def _attention(
    reference: Callable[[Attributes, int], Body], attributes: Attributes, outputs: int
) -> Body:
    precision, shown = attributes.get("softmax_precision"), attributes["qk_matmul_output_mode"]
    if precision not in (None, *_PRECISIONS):
        raise ValueError(f"softmax_precision is {precision}, which is no type of floating point")
    if shown not in _SHOWN:
        raise ValueError(f"qk_matmul_output_mode is {shown}, it must be 0 to 3")
    body = reference(attributes, outputs)
    if outputs <= _PRODUCT or attributes["qk_matmul_output_mode"] or not attributes["softcap"]:
        return body
    uncapped = reference({**attributes, "softcap": 0.0}, outputs)

    def run(inputs: Operands) -> Results:
        return (*body(inputs)[:_PRODUCT], uncapped(inputs)[_PRODUCT])

    return run


for _version in (23, 24, 25):
    _bind = partial(_attention, reference_kernel("Attention", _version))
    register(Kernel("", "Attention", _version, _bind, "onnx.reference"))


def _crop(
    reference: Callable[[Attributes, int], Body], attributes: Attributes, outputs: int
) -> Body:
    body = reference(attributes, outputs)
    axes = attributes.get("axes")

    def run(inputs: Operands) -> Results:
        rank = np.ndim(inputs[0])
        wanted, count = (
            np.size(inputs[1]),
            len(range(rank) if axes is None else each_once(axes, rank)),
        )
        if wanted != count:
            raise ValueError(f"shape has {wanted} extents for {count} axes")
        return body(inputs)

    return run


_bind = partial(_crop, reference_kernel("CenterCropPad", 18))
register(Kernel("", "CenterCropPad", 18, _bind, "onnx.reference"))

trust("BlackmanWindow", 17)
trust("CausalConvWithState", 27)
trust("Col2Im", 18)
trust("DFT", 17, 20)
trust("DeformConv", 19, 22)
trust("HammingWindow", 17)
trust("HannWindow", 17)
trust("ImageDecoder", 20)
trust("LinearAttention", 27)
trust("MelWeightMatrix", 17)
trust("RegexFullMatch", 20)
trust("RoiAlign", 16, 22)
trust("RotaryEmbedding", 23)
trust("STFT", 17)
trust("TensorScatter", 24)
trust("TfIdfVectorizer", 9)

trust("ArrayFeatureExtractor", 1, domain=ML)
trust("Binarizer", 1, domain=ML)
trust("Imputer", 1, domain=ML)
trust("OneHotEncoder", 1, domain=ML)
trust("Adagrad", 1, domain=TRAINING)
trust("Adam", 1, domain=TRAINING)
trust("Momentum", 1, domain=TRAINING)
