"""Nodes of onnxruntime's own operators that its kernels run: see contrib_nodes.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tools.contrib_graphs import DECODER, WHISPER_DECODER, WHISPER_ENCODER

Shapes = Sequence[tuple[int, ...] | None]
_NO: None = None
_HEADS: dict[str, Any] = {"num_heads": 2}
_GROUPS: dict[str, Any] = {"num_heads": 2, "kv_num_heads": 1}
_BITS: dict[str, Any] = {"K": 32, "N": 4, "bits": 4, "block_size": 16}
_HASH: dict[str, Any] = {"max_ngram_size": 2, "n_head_per_ngram": 2, "pad_id": 0}
_WINDOW: dict[str, Any] = {"kernel_shape": [2, 2]}
_QUANTIZED: Shapes = ((2, 3), (), (), (2, 3), (), (), (), ())
_TOKENS: dict[str, Any] = {"eos_token_id": 10, "pad_token_id": 0, "vocab_size": 11}
_GENERATION: dict[str, Any] = {**_TOKENS, "decoder": DECODER}
_WHISPER: dict[str, Any] = {
    **_TOKENS, "model_type": 2, "decoder_start_token_id": 1, "decoder": WHISPER_DECODER,
    "encoder": WHISPER_ENCODER, "translate_token_id": 3, "no_speech_token_id": 4,
    "transcribe_token_id": 5, "start_of_lm_token_id": 6, "no_timestamps_token_id": 7,
    "beginning_timestamp_token_id": 8,
}  # fmt: skip
FORMS: Mapping[str, tuple[dict[str, Any], Shapes]] = {
    "Attention": (_HEADS, ((2, 4, 8), (8, 24), (24,), (2, 4), _NO, (1, 2, 4, 4), _NO)),
    "AttnLSTM": ({"hidden_size": 2}, (
        (3, 2, 4), (1, 8, 7), (1, 8, 2), (1, 16), (2,), (1, 2, 2), (1, 2, 2), (1, 6), (1, 2, 3),
        (1, 3, 3), (1, 3), (2, 5, 3), (2,), (1, 5, 3),
    )),
    "BeamSearch": (_GENERATION, (
        (2, 2), (1,), (1,), (1,), (1,), (1,), (1,), (11,), (2, 11), (2, 2),
    )),
    "BiasGelu": ({}, ((2, 8), (8,))),
    "BifurcationDetector": ({}, ((5,), (4,), (), (5,))),
    "BranchwiseRMSNorm": ({"num_branches": 2}, ((2, 3, 2, 4), (8,))),
    "CDist": ({}, ((3, 4), (5, 4))),
    "CausalConvWithState": ({}, ((2, 4, 6), (4, 1, 3), (4,), (2, 4, 2))),
    "ConvTransposeWithDynamicPads": ({}, ((1, 2, 4, 4), (2, 3, 3, 3), (4,), (3,))),
    "CropAndResize": ({}, ((2, 2, 4, 4), (1, 4), (1,), (2,))),
    "DecoderMaskedMultiHeadAttention": ({**_HEADS, "past_present_share_buffer": 1}, (
        (2, 1, 8), (2, 1, 8), (2, 1, 8), (2, 2), (1, 2, 1, 2), (2, 2, 5, 4), (2, 2, 5, 4), (), _NO,
        _NO, (24,),
    )),
    "DequantizeLinear": ({}, ((2, 3), (), ())),
    "DynamicQuantizeLSTM": ({"hidden_size": 4}, (
        (3, 2, 4), (1, 4, 16), (1, 4, 16), (1, 32), (2,), (1, 2, 4), (1, 2, 4), (1, 12), (1,), (1,),
        (1,), (1,),
    )),
    "DynamicQuantizeMatMul": ({}, ((2, 4), (4, 3), (), (), (3,))),
    "DynamicTimeWarping": ({}, ((4, 5),)),
    "EmbedLayerNormalization": ({}, (
        (2, 3), (2, 3), (9, 4), (9, 4), (9, 4), (4,), (4,), (2, 3), (2, 3),
    )),
    "EngramGate": ({}, (
        (2, 3, 2, 8), (2, 3, 2, 8), (2, 3, 8), (2, 8), (2, 8), (2, 8),
    )),
    "ExpandDims": ({}, ((2, 3), ())),
    "FastGelu": ({}, ((2, 8), (8,))),
    "FusedConv": ({"activation": "Relu"}, ((1, 2, 4, 4), (3, 2, 3, 3), (3,), (1, 3, 2, 2))),
    "FusedGemm": ({"activation": "Relu"}, ((2, 4), (4, 3), (3,))),
    "FusedMatMul": ({}, ((2, 3, 4), (2, 4, 5))),
    "GatedAdd": ({}, ((2, 3, 8), (2, 3, 8), (2, 3, 1), (8,))),
    "GatedDeltaNet": ({"gate_activation": "softplus"}, (
        (2, 3, 2, 4), (2, 3, 2, 4), (2, 3, 2, 4), _NO, (2, 3, 2), (2, 3, 2), (2, 2, 4, 4), (2,),
        (2,), _NO, _NO,
    )),
    "GatedRMSNorm": ({}, ((2, 3, 8), (8,), (2, 3, 8))),
    "GatherBlockQuantized": ({"block_size": 16, "bits": 8}, ((4, 32), (2,), (4, 2), (4, 2))),
    "GatherND": ({}, ((2, 3), (2, 1))),
    "GatherPacked": ({"K": 16, "packed_type": 1, "output_dtype": 1}, ((4, 32), (2,))),
    "Gelu": ({}, ((2, 3),)),
    "GreedySearch": (_GENERATION, ((2, 2), (1,), (1,), (1,), (11,), (2, 11), (2, 2))),
    "GridSample": ({}, ((1, 2, 4, 4), (1, 3, 3, 2))),
    "GroupQueryAttention": (_GROUPS, (
        (1, 2, 16), (1, 2, 8), (1, 2, 8), (1, 1, 4, 8), (1, 1, 4, 8), (1,), (), (9, 4), (9, 4),
        (1, 2), (1, 1, 2, 4), (2,), _NO, _NO, _NO, _NO, _NO,
    )),
    "HyperConnectionPostMix": ({"num_branches": 2}, (
        (2, 3, 8), (2, 3, 4), (2, 3, 2), (2, 3, 2, 2),
    )),
    "HyperConnectionPreMix": ({"num_branches": 2}, ((2, 3, 8), (2, 3, 2))),
    "Inverse": ({}, ((2, 3, 3),)),
    "LinearAttention": ({"q_num_heads": 2, "kv_num_heads": 2}, (
        (1, 3, 8), (1, 3, 8), (1, 3, 8), (1, 2, 4, 4), (1, 3, 2), (1, 3, 2),
    )),
    "LinearAttentionGate": ({}, ((1, 3, 2), (2,), (2,), (1, 3, 2))),
    "MRotaryEmbedding": ({"mrope_section": [2, 1, 1]}, ((1, 2, 3, 8), (3, 1, 3), (9, 4), (9, 4))),
    "MatMulBnb4": ({"K": 16, "N": 4, "block_size": 16, "quant_type": 1}, ((2, 16), (32,), (4,))),
    "MatMulFpQ4": ({}, ((2, 32), (80,), (2,))),
    "MatMulInteger16": ({}, ((2, 4), (4, 3))),
    "MatMulIntegerToFloat": ({}, ((2, 4), (4, 3), (), (), (), (), (3,))),
    "MatMulNBits": (_BITS, ((2, 32), (4, 2, 8), (8,), (4,), (32,), (4,))),
    "MaxpoolWithMask": (_WINDOW, ((1, 1, 4, 4), (1, 1, 4, 4))),
    "MoE": ({"k": 1}, ((3, 4), (3, 2), (2, 6, 4), (2, 6), (2, 4, 6), (2, 4), _NO, _NO)),
    "MoEGroupRouter": ({"top_k": 1, "n_group": 2, "topk_group": 1}, ((3, 256), (4,), (4, 256))),
    "MultiHeadAttention": (_HEADS, (
        (2, 3, 8), (2, 4, 8), (2, 4, 8), (24,), (2, 7), (1, 2, 3, 7), (2, 2, 3, 4), (2, 2, 3, 4),
        (1,), (2, 1, 7),
    )),
    "MurmurHash3": ({}, ((3,),)),
    "NGramHashMapping": (_HASH, ((2, 3), (2,), (2,), (2, 1), (2,), (), (2, 3))),
    "NGramRepeatBlock": ({"ngram_size": 2}, ((2, 4), (2, 9))),
    "NhwcMaxPool": (_WINDOW, ((1, 4, 4, 2),)),
    "Pad": ({}, ((2, 3), (4,), ())),
    "QAttention": (_HEADS, (
        (2, 4, 8), (8, 24), (24,), (), (), (2, 4), (), (), (2, 2, 2, 3, 4),
    )),
    "QEmbedLayerNormalization": ({}, (
        (2, 3), (2, 3), (9, 4), (9, 4), (9, 4), (4,), (4,), (2, 3), *[()] * 10,
    )),
    "QGemm": ({}, ((2, 4), (), (), (4, 3), (), (), (3,), (), ())),
    "QLinearAdd": ({}, _QUANTIZED),
    "QLinearAveragePool": (_WINDOW, ((1, 1, 4, 4), (), (), (), ())),
    "QLinearConcat": ({"axis": 0}, ((), (), (2, 3), (), (), (2, 3), (), ())),
    "QLinearConv": ({}, ((1, 2, 4, 4), (), (), (3, 2, 3, 3), (), (), (), (), (3,))),
    "QLinearGlobalAveragePool": ({}, ((1, 2, 4, 4), (), (), (), ())),
    "QLinearLeakyRelu": ({}, ((2, 3), (), (), (), ())),
    "QLinearMul": ({}, _QUANTIZED),
    "QLinearSigmoid": ({}, ((2, 3), (), (), (), ())),
    "QLinearSoftmax": ({"opset": 13}, ((2, 3), (), (), (), ())),
    "QLinearWhere": ({}, ((2, 3), (2, 3), (), (), (2, 3), (), (), (), ())),
    "QMoE": ({"k": 1, "expert_weight_bits": 8}, (
        (3, 32), (3, 2), (2, 64, 32), (2, 64), (2, 64), (2, 32, 64), (2, 32), (2, 32), _NO,
        _NO, _NO, (2, 64), (2, 32), _NO, (3, 2), _NO, _NO, _NO, _NO, _NO, _NO,
    )),
    "QuantizeLinear": ({}, ((2, 3), (), ())),
    "QuickGelu": ({}, ((2, 3),)),
    "Range": ({}, ((), (), ())),
    "RotaryEmbedding": ({}, ((1, 2, 3, 8), (1, 3), (9, 4), (9, 4))),
    "SampleOp": ({}, ((2, 3),)),
    "Sampling": (_GENERATION, (
        (2, 2), (1,), (1,), (1,), (11,), (2, 11), (2, 2), (2, 11), (1,),
    )),
    "ScaledSiLU": ({}, ((2, 3), (3,))),
    "SkipLayerNormalization": ({}, ((2, 3, 4), (2, 3, 4), (4,), (4,), (4,))),
    "SkipSimplifiedLayerNormalization": ({}, ((2, 3, 4), (2, 3, 4), (4,), (4,))),
    "SparseAttention": ({**_GROUPS, "sparse_block_size": 16}, (
        (1, 2, 16), (1, 2, 8), (1, 2, 8), (1, 1, 16, 8), (1, 1, 16, 8), (1, 2), (1, 1), (), (1,),
        (16, 4), (16, 4),
    )),
    "Tokenizer": ({"mark": 0, "mincharnum": 1, "pad_value": "#", "separators": [" "]}, ((2,),)),
    "TransposeMatMul": ({}, ((2, 3, 4), (2, 4, 5))),
    "Trilu": ({}, ((3, 3), ())),
    "UnfoldTensor": ({"size": 2}, ((2, 6),)),
    "Unique": ({}, ((5,),)),
    "VarlenCausalConvWithState": ({}, (
        (6, 4), (4, 3), (3,), (4,), (2, 4, 2), (2,), (4, 3), (6,),
    )),
    "VarlenNGramHashMapping": (_HASH, (
        (6,), (2,), (2,), (3,), (2, 1), (2,), (), (6,), (2, 1), (2,),
    )),
    "WhisperBeamSearch": (_WHISPER, (
        (2, 3, 2), (1,), (1,), (1,), (1,), (1,), (1,), _NO, _NO, _NO, (2, 1),
    )),
    "WordConvEmbedding": ({}, ((2, 3), (9, 4), (5, 1, 2, 4), (5,))),
}  # fmt: skip
"""Attributes and shapes of a node that the kernel runs, with all its inputs."""

NEEDED = {("Attention", 2), *(("AttnLSTM", k) for k in (8, 9, 10, 11))}
NEEDED |= {("GatedDeltaNet", k) for k in (1, 2, 6)} | {("GroupQueryAttention", k) for k in (1, 2)}
NEEDED |= {("QMoE", 3), ("QMoE", 6), ("BeamSearch", 5), ("WhisperBeamSearch", 5)}
"""Optional inputs without which the session declines the node."""

CONTENT = {("GroupQueryAttention", 5): 3, ("GroupQueryAttention", 6): 4}
CONTENT |= dict.fromkeys([("GreedySearch", 1), ("Sampling", 1)], 8)
CONTENT |= dict.fromkeys([("BeamSearch", 1), ("WhisperBeamSearch", 1)], 8)
CONTENT |= dict.fromkeys([("BeamSearch", 3), ("WhisperBeamSearch", 3)], 2)
"""What operands hold that hold no ones."""

GROUPS_BY_OPERATOR = {"QLinearConcat": (1, 0, 1)}
"""Where the last input stands for groups: inputs that have the element types of a group."""

ELEMENTS = {("BeamSearch", 0): np.dtype(np.int32)}
"""Element types of operands that are not the first that the kernel takes."""

RESULTS = {
    "BeamSearch": 1, "Sampling": 1, "WhisperBeamSearch": 1,
    "CausalConvWithState": 2, "DecoderMaskedMultiHeadAttention": 3, "GatedDeltaNet": 2,
    "GroupQueryAttention": 3, "MoEGroupRouter": 1, "MultiHeadAttention": 3,
}  # fmt: skip
"""Results without which other attributes are asked for."""
