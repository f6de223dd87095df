"""Checks of operand ranks for which onnxruntime crashes: its kernels read missing extents.

Measured on release 1.31, in child processes, for every operator with inputs of ranks 0 to 4. A step
with bad ranks is declined; if a rank is unknown, the exported model fails at run time before the
kernel is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle import ops
from treadle.delegate.export_scope import ExportScope
from treadle.delegate.kernels import registry
from treadle.ir import Leaf, Operands, Step, Tensor, Value

_MS = "com.microsoft"
_MOST = 64
_HEADS = ("q_num_heads", "kv_num_heads")
_WITH_HEADS = 4

Ranks = Mapping[int, tuple[int, int]]
"""The least and the greatest rank of operands, by their positions."""

_RANKS: Mapping[tuple[str, str], Ranks] = {
    ("", "AffineGrid"): {1: (1, 1)},
    ("", "Conv"): {1: (2, _MOST)},
    ("", "ConvInteger"): {0: (2, _MOST), 1: (2, _MOST)},
    ("", "GridSample"): {0: (1, _MOST), 1: (1, _MOST)},
    ("", "Multinomial"): {0: (2, 2)},
    ("", "QLinearConv"): {0: (1, _MOST), 3: (2, _MOST)},
    ("", "ReverseSequence"): {0: (2, _MOST)},
    ("", "RoiAlign"): {0: (4, 4), 1: (2, 2), 2: (1, 1)},
    (_MS, "AttnLSTM"): {0: (3, 3)},
    (_MS, "CropAndResize"): {0: (4, 4), 1: (2, 2), 2: (1, 1), 3: (1, 1)},
    (_MS, "DynamicQuantizeMatMul"): {1: (2, _MOST)},
    (_MS, "EmbedLayerNormalization"): {
        **dict.fromkeys((0, 1, 2, 3, 4, 7, 8), (2, 2)),
        **dict.fromkeys((5, 6), (1, 1)),
    },
    (_MS, "FusedConv"): {1: (2, _MOST)},
    (_MS, "GridSample"): {0: (1, _MOST), 1: (1, _MOST)},
    (_MS, "MatMulIntegerToFloat"): {1: (2, _MOST)},
    (_MS, "QLinearConv"): {0: (1, _MOST), 3: (2, _MOST)},
    (_MS, "WhisperBeamSearch"): {10: (2, 2)},
}
_CORRELATIONS = (("", "Conv"), ("", "ConvInteger"), ("", "QLinearConv"))
"""Operators whose kernels take more pads than there are axes, and pads below 0."""
_KEEPS_RANK = ("FusedConv", "QLinearConv", "QLinearAveragePool", "QLinearGlobalAveragePool")
_ELEMENTWISE = ("QLinearAdd", "QLinearMul", "QLinearLeakyRelu", "QLinearSigmoid")
_ZERO_POINT = {4: "zero point of its result"}
_NEEDED: Mapping[tuple[str, str], Mapping[int, str]] = {
    (_MS, "Attention"): {2: "bias"},
    (_MS, "AttnLSTM"): {
        8: "query layer", 9: "memory layer", 10: "attention vector", 11: "memory"
    },
    (_MS, "QLinearLeakyRelu"): _ZERO_POINT,
    (_MS, "QLinearSigmoid"): _ZERO_POINT,
    (_MS, "QMoE"): {3: "scales of its first weights", 6: "scales of its second weights"},
}  # fmt: skip
"""Operands that are optional in the schema, which the kernel reads unconditionally."""


def omission_refusal(step: Leaf, operands: Operands) -> str:
    """Why the step has no meaning with these operands; "" if it has.

    Inputs left out at the end are not written, so only what the schema needs is missed.
    """
    if None not in operands:
        return ""
    schema = ops.schema(step.domain, step.op, step.version)
    if schema is not None:
        position = ops.missed_input(schema, operands)
    else:
        own = registry().schema(step.domain, step.op, step.version)
        left_out = (k for k, each in enumerate(operands) if each is None)
        position = next((k for k in left_out if own is not None and own.needs(k)), None)
    return "" if position is None else f"input {position} of {step.op} is left out"


def rank_refusal(step: Leaf) -> str:
    """Why the kernel would crash the process, or take a value that has no meaning; "" otherwise.

    The check has refused such a value, unless it is one that the caller of a function gives.
    """
    for name, attribute in step.attributes.items():
        wanted = ops.wanted_value(step, name, attribute)
        if wanted:
            return f"{name} of {step.op} is not {wanted}"
    if (step.domain, step.op) in _CORRELATIONS and min(_pads(step), default=0) < 0:
        return f"onnxruntime takes pads below 0 of {step.op}"
    for position, name in _NEEDED.get((step.domain, step.op), {}).items():
        if _operand(step.operands, position) is None:
            return f"onnxruntime crashes the process if {step.op} has no {name}"
    for position, (least, most) in _wanted(step).items():
        rank = _rank(_operand(step.operands, position))
        if rank is not None and not least <= rank <= most:
            wanted = f"{least}" if least == most else f"{least} or more"
            return (
                f"onnxruntime crashes the process, or answers, if operand {position} of {step.op}"
                f" has rank {rank}, not {wanted}"
            )
    return ""


def with_ranks_checked(draft: ExportScope, step: Leaf, operands: Operands) -> Operands:
    """The exported operands, with run-time checks on those of unknown rank."""
    checked = list(operands)
    for position, (least, most) in _wanted(step).items():
        value = _operand(operands, position)
        old = _operand(step.operands, position)
        if value is None or _rank(old) is not None:
            continue
        if least < most and _least_rank(draft.steps, value) >= least:
            continue
        checked[position] = _checked(draft, value, least, most)
    return tuple(checked)


def _wanted(step: Leaf) -> Ranks:
    if (step.domain, step.op) in _CORRELATIONS and _pads(step):
        rank = 2 + len(_pads(step)) // 2
        return {**_RANKS.get((step.domain, step.op), {}), 0: (rank, rank)}
    if (step.domain, step.op) == ("", "Einsum"):
        return _einsum_ranks(step)
    if (step.domain, step.op) == ("", "Attention"):
        return _attention_ranks(step)
    return _RANKS.get((step.domain, step.op), {})


def _pads(step: Leaf) -> Sequence[int]:
    found = step.attributes.get("pads")
    values = found.value if found is not None and isinstance(found.value, tuple) else ()
    return [each for each in values if isinstance(each, int)]


def _attention_ranks(step: Leaf) -> Ranks:
    """Of keys and values of earlier calls, and, without numbers of heads, of the operands."""
    with_heads = all(_heads(step, name) for name in _HEADS)
    positions = (4, 5) if with_heads else (0, 1, 2, 4, 5)
    return dict.fromkeys(positions, (_WITH_HEADS, _WITH_HEADS))


def _heads(step: Leaf, name: str) -> bool:
    attribute = step.attributes.get(name)
    return attribute is not None and isinstance(attribute.value, int) and attribute.value > 0


def _einsum_ranks(step: Leaf) -> Ranks:
    attribute = step.attributes.get("equation")
    equation = attribute.value if attribute is not None else b""
    text = equation.decode("utf-8", "replace") if isinstance(equation, bytes) else ""
    terms = text.split("->")[0].split(",")
    return {k: (sum(map(str.isalpha, term)), _MOST) for k, term in enumerate(terms)}


def _checked(draft: ExportScope, value: Value, least: int, most: int) -> Value:
    """The value through a Reshape to its own shape, which fails for another rank.

    Exactly: Reshape(Shape(x), [rank]); at least: Gather(Shape(x), [least - 1]).
    """
    if least == 0:
        return value
    shape = draft.leaf("Shape", value)
    if least == most:
        return draft.leaf("Reshape", value, draft.leaf("Reshape", shape, draft.constant([least])))
    extent = draft.leaf("Gather", shape, draft.constant([least - 1]))
    zero = draft.leaf("Sub", extent, extent)
    return draft.leaf("Reshape", value, draft.leaf("Add", shape, zero))


def _least_rank(steps: list[Step], value: Value) -> int:
    """The least rank of results of onnxruntime's own operators, whose types no rule determines."""
    made = next((s for s in reversed(steps) if isinstance(s, Leaf) and value in s.results), None)
    if made is None or made.domain != _MS or made.op not in (*_KEEPS_RANK, *_ELEMENTWISE):
        return _rank(value) or 0
    tensors = [v for v in made.operands if v is not None]
    read = tensors if made.op in _ELEMENTWISE else tensors[:1]
    return max((_least_rank(steps, v) for v in read), default=0)


def _rank(value: Value | None) -> int | None:
    """The inferred rank; the declared one may be wrong."""
    type_ = value.inferred if value is not None else None
    shape = type_.shape if isinstance(type_, Tensor) else None
    return None if shape is None else len(shape)


def _operand(operands: Operands, position: int) -> Value | None:
    return operands[position] if len(operands) > position else None
