"""Advice on work in a body that gives the same result in every iteration."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.checks.constants import Known
from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import (
    Call,
    Leaf,
    Loop,
    Step,
    Tensor,
    Value,
    defining_steps,
    operator_of,
    ports,
    reads,
    step_path,
)
from treadle.ops import RANDOM, resolve_copies

_FREE = frozenset(
    {
        "Cast", "CastLike", "Constant", "Flatten", "Identity", "Reshape", "SequenceConstruct",
        "Shape", "Size", "Squeeze", "Unsqueeze",
    }
)  # fmt: skip
"""Operators that cost next to nothing, or that a runtime performs without a copy."""

_WORTH_WORDS = 64
_SHOWN = 4


def findings(loop: Loop, path: str, known: Known) -> Iterator[Finding]:
    """Report all loop-invariant steps of the body in one finding.

    Scalar steps and steps that copy nothing are not reported.
    """
    still = _still(loop, known)
    positions = [
        step_path(f"{path}.body", step, position)
        for position, step in enumerate(loop.body.steps)
        if step in still and _is_work(step, known)
    ]
    if not positions:
        return
    names = [position.rpartition("/")[2] for position in positions[:_SHOWN]]
    more = f" and {len(positions) - _SHOWN} more" if len(positions) > _SHOWN else ""
    message = f"{', '.join(names)}{more}: the same in every iteration"
    yield finding("CF417", f"{path}.body", message, "compute it before the loop")


def _still(loop: Loop, known: Known) -> set[Step]:
    view, made = ports(loop), defining_steps(loop.body)
    fixed = {port.param for port in view.invariants}
    fixed |= {constant.value for constant in loop.body.constants}
    fixed |= {port.param for port in view.carried if resolve_copies(port.next, made) is port.param}
    still: set[Step] = set()
    for step in loop.body.steps:
        stays = all(value is None or value in fixed or value in known for value in reads(step))
        if stays and _is_pure(step):
            still.add(step)
            fixed |= {value for value in step.results if value is not None}
    return still


def _is_pure(step: Step) -> bool:
    # the bodies of nested steps and functions are not inspected
    return isinstance(step, Leaf) and not step.blocks and operator_of(step) not in RANDOM


def _is_work(step: Step, known: Known) -> bool:
    if isinstance(step, Call) or operator_of(step) in _FREE:
        return False
    if all(value is None or value in known for value in step.results):
        return False
    return any(value is not None and _is_large(value) for value in reads(step) + step.results)


def _is_large(value: Value) -> bool:
    shape = value.inferred.shape if isinstance(value.inferred, Tensor) else None
    if not shape:
        return False
    size = 1
    for dim in shape:
        size *= dim if isinstance(dim, int) else _WORTH_WORDS
    return size >= _WORTH_WORDS
