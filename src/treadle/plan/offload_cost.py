"""Whether a group of steps repays a call of another engine.

Measured: a call of onnxruntime costs about 5 microseconds, conversions included, and 0.3 for each
step in it; a small numpy kernel costs 1 to 3. So four small steps repay the call; a single step
does where it is compute-heavy or numpy has no kernel for it.
"""

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
    """Whether another engine is expected to beat numpy on these steps, one call included."""
    return len(steps) >= _FEWEST_SMALL_STEPS or any(map(is_compute_heavy, steps))


def is_compute_heavy(step: Step) -> bool:
    """Whether one step of this kind is expected to take long enough in numpy to repay a call."""
    if any(bodies(step)):
        return True
    if not isinstance(step, Leaf):
        return False
    if step.op in _HEAVY or step.domain not in _STANDARD:
        return True
    return ops.schema(step.domain, step.op, step.version) is None
