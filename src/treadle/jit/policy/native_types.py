"""Whether the values of a step have a native form, as far as their types show."""

from __future__ import annotations

from treadle.ir import Optional, Sequence, Step, Tensor, reads
from treadle.jit.kernel.node_builder import NATIVE


def is_native(step: Step) -> bool:
    """Whether its operands and results have a native form, as far as their types show."""
    for value in (*step.results, *reads(step)):
        type_ = value.type if value is not None else None
        while isinstance(type_, Optional | Sequence):
            type_ = type_.element
        if type_ is not None and not isinstance(type_, Tensor):
            return False
        if isinstance(type_, Tensor) and type_.dtype is not None and type_.dtype not in NATIVE:
            return False
    return True
