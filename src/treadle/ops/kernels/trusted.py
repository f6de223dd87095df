"""The versions for which onnx.reference's implementation is used unchanged, each one tested."""

from __future__ import annotations

from treadle.ops.kernels.onnx_reference import trust
from treadle.ops.kernels.registry import ML

TRAINING = "ai.onnx.preview.training"

trust("AffineGrid", 20)
trust("Attention", 23, 24, 25)
trust("BlackmanWindow", 17)
trust("CausalConvWithState", 27)
trust("CenterCropPad", 18)
trust("Col2Im", 18)
trust("DFT", 17, 20)
trust("DeformConv", 19, 22)
trust("GridSample", 20, 22)
trust("HammingWindow", 17)
trust("HannWindow", 17)
trust("ImageDecoder", 20)
trust("LinearAttention", 27)
trust("MelWeightMatrix", 17)
trust("NegativeLogLikelihoodLoss", 12, 13, 22)
trust("RegexFullMatch", 20)
trust("RoiAlign", 16, 22)
trust("RotaryEmbedding", 23)
trust("STFT", 17)
trust("SoftmaxCrossEntropyLoss", 12, 13)
trust("TensorScatter", 24)
trust("TfIdfVectorizer", 9)

trust("ArrayFeatureExtractor", 1, domain=ML)
trust("Binarizer", 1, domain=ML)
trust("Imputer", 1, domain=ML)
trust("OneHotEncoder", 1, domain=ML)
trust("TreeEnsemble", 5, domain=ML)
trust("Adagrad", 1, domain=TRAINING)
trust("Adam", 1, domain=TRAINING)
trust("Momentum", 1, domain=TRAINING)
