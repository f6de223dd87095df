"""Numpy kernels of leaf operators: one file per family of operators."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Mapping
from functools import cache

from treadle.ops.kernels.registry import TABLE, Kernel
from treadle.ops.kernels.windows import Window, window

__all__ = ["FAMILIES", "Kernel", "Window", "kernel", "kernels", "window"]

FAMILIES: Mapping[str, str] = {
    "arithmetic": "Add BitShift Div Max Mean Min Mod Mul Pow Sub Sum",
    "logic": (
        "And BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Equal Greater GreaterOrEqual IsInf "
        "IsNaN Less LessOrEqual Not Or Where Xor"
    ),
    "unary": (
        "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Clip Cos Cosh Erf Exp Floor HardSwish "
        "Identity Log Mish Neg PRelu Reciprocal Relu Round Sigmoid Sign Sin Sinh Softplus "
        "Softsign Sqrt Tan Tanh"
    ),
    "activation": (
        "Celu Elu Gelu HardSigmoid Hardmax LeakyRelu LogSoftmax Selu Shrink Softmax SwiGLU "
        "Swish ThresholdedRelu"
    ),
    "cast": "BitCast Cast CastLike",
    "layout": (
        "Concat DepthToSpace Expand Flatten Reshape ReverseSequence Shape Size Slice "
        "SpaceToDepth Split Squeeze Tile Transpose Trilu Unsqueeze"
    ),
    "padding": "Pad",
    "gather": (
        "ArgMax ArgMin Compress Gather GatherElements GatherND NonZero OneHot Scatter "
        "ScatterElements ScatterND TopK Unique"
    ),
    "reduce": (
        "CumProd CumSum ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
        "ReduceMin ReduceProd ReduceSum ReduceSumSquare"
    ),
    "construct": "Constant ConstantOfShape EyeLike Range",
    "sequence": (
        "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt "
        "SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength "
        "SplitToSequence"
    ),
    "matrix": "Det Einsum Gemm MatMul MatMulInteger",
    "random": (
        "Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform "
        "RandomUniformLike"
    ),
    "normalize": (
        "BatchNormalization GroupNormalization InstanceNormalization LRN LayerNormalization "
        "LpNormalization MeanVarianceNormalization RMSNormalization"
    ),
    "pool": (
        "AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool MaxRoiPool "
        "MaxUnpool"
    ),
    "quantize": "DequantizeLinear DynamicQuantizeLinear QLinearMatMul QuantizeLinear",
    "convolve": "Conv ConvInteger ConvTranspose QLinearConv",
    "recurrent": "GRU LSTM RNN",
    "resize": "AffineGrid GridSample NonMaxSuppression Resize RoiAlign Upsample",
    "strings": "StringConcat StringNormalizer StringSplit",
    "losses": "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
    "ml": (
        "CastMap CategoryMapper DictVectorizer FeatureVectorizer LabelEncoder Normalizer Scaler "
        "ZipMap"
    ),
    "machines": "LinearClassifier LinearRegressor SVMClassifier SVMRegressor",
    "trees": "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor",
    "trusted": (
        "Adagrad Adam ArrayFeatureExtractor Attention Binarizer BlackmanWindow "
        "CausalConvWithState CenterCropPad Col2Im DFT DeformConv HammingWindow HannWindow "
        "ImageDecoder Imputer LinearAttention MelWeightMatrix Momentum "
        "OneHotEncoder RegexFullMatch RoiAlign RotaryEmbedding STFT TensorScatter "
        "TfIdfVectorizer"
    ),
}
"""The operators by the name of the file that has their kernels, in whatever domain."""

_FAMILIES_OF: dict[str, list[str]] = {}
for _family, _operators in FAMILIES.items():
    for _operator in _operators.split():
        _FAMILIES_OF.setdefault(_operator, []).append(_family)
_imported: set[str] = set()
_locks = [threading.RLock()]


def kernel(domain: str, op: str, version: int) -> Kernel | None:
    """The kernel for this version of an operator; None if there is none.

    The file that has it is imported; all of them take tens of milliseconds.
    """
    key = ("" if domain == "ai.onnx" else domain, op, version)
    if key in TABLE:
        return TABLE[key]
    with _locks[-1]:
        for family in _FAMILIES_OF.get(op, ()):
            _import(family)
        return TABLE.get(key)


@cache
def kernels() -> dict[tuple[str, str, int], Kernel]:
    """Every kernel by (domain, operator, version)."""
    with _locks[-1]:
        for family in FAMILIES:
            _import(family)
    return TABLE


def _import(family: str) -> None:
    if family not in _imported:
        importlib.import_module(f"treadle.ops.kernels.{family}")
        _imported.add(family)


def _begin_anew() -> None:
    """Replace the lock in a forked process, where another thread may have held it."""
    _locks[:] = [threading.RLock()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
