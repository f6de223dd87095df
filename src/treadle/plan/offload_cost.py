"""Cost model: whether a group of steps is worth a call of another engine."""

from __future__ import annotations

from collections.abc import Sequence

from treadle import ops
from treadle.ir import Leaf, Step, bodies

_FEWEST_SMALL_STEPS = 4
_HEAVY = frozenset(
    (
        "Attention", "AveragePool", "BatchNormalization", "Conv", "ConvInteger", "ConvTranspose",
        "DFT", "DeformConv", "Einsum", "GRU", "Gemm", "GridSample", "GroupNormalization",
        "InstanceNormalization", "LRN", "LSTM", "LayerNormalization", "LogSoftmax", "LpPool",
        "MatMul", "MatMulInteger", "MatMulNBits", "MaxPool", "NonMaxSuppression", "QLinearConv",
        "QLinearMatMul", "RMSNormalization", "RNN", "Resize", "RoiAlign", "RotaryEmbedding", "STFT",
        "Softmax", "TopK", "Upsample",
    )
)  # fmt: skip
_STANDARD = ("", "ai.onnx")


def worth_offloading(steps: Sequence[Step]) -> bool:
    """Whether another engine is expected to beat numpy on these steps, including the call."""
    return len(steps) >= _FEWEST_SMALL_STEPS or any(map(is_compute_heavy, steps))


def is_compute_heavy(step: Step) -> bool:
    """Whether one such step is expected to take long enough in numpy to be worth a call."""
    if any(bodies(step)):
        return True
    if not isinstance(step, Leaf):
        return False
    if step.op in _HEAVY or step.domain not in _STANDARD:
        return True
    return ops.schema(step.domain, step.op, step.version) is None
