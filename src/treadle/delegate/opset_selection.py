"""Chooses the lowest opset and IR version in which a region keeps its meaning.

A leaf's version is the opset that introduced its schema, which is valid until the next schema. So a
model of opset 28 whose steps are all older runs in an onnxruntime that supports opset 26.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from treadle.delegate.kernels import registry
from treadle.errors import Unsupported
from treadle.ir import (
    Constant,
    DType,
    Leaf,
    Literal,
    Step,
    bodies,
    operator_of,
)

_LOWEST = 7
"""Below opset 7 onnxruntime guarantees nothing."""

_WITH_CONTROL_FLOW = 16
"""From opset 16 control flow takes sequences and optionals, and so does Identity."""

_LOWEST_IR = 8
_IR_OF = {
    DType.FLOAT8E4M3FN: 9,
    DType.FLOAT8E4M3FNUZ: 9,
    DType.FLOAT8E5M2: 9,
    DType.FLOAT8E5M2FNUZ: 9,
    DType.INT4: 10,
    DType.UINT4: 10,
    DType.FLOAT4E2M1: 11,
    DType.FLOAT8E8M0: 12,
    DType.INT2: 13,
    DType.UINT2: 13,
}


@dataclass(frozen=True, slots=True)
class TargetVersions:
    """The opsets and the IR version of an exported model."""

    opset: int
    ir_version: int = _LOWEST_IR
    others: Mapping[str, int] = field(default_factory=dict)

    @property
    def opsets(self) -> dict[str, int]:
        """The opset of every domain."""
        return {"": self.opset, **self.others}

    def raised_to(self, opset: int, steps: Sequence[Step]) -> TargetVersions:
        """The same with a newer opset; unchanged if that would change the meaning of a step."""
        if opset <= self.opset or opset > _span(steps).high:
            return self
        return replace(self, opset=opset)


def target_versions(steps: Sequence[Step], constants: Sequence[Constant]) -> TargetVersions:
    """The lowest versions in which every step keeps its schema.

    Raises Unsupported if there are none.
    """
    low, high, first, last, others = _span(steps)
    if low > high and low > _LOWEST:
        assert first is not None
        assert last is not None
        raise Unsupported(
            operator_of(first), first.version, f"no opset contains both it and {_show(last)}"
        )
    wanted = _wanted(steps)
    return TargetVersions(min(max(low, wanted), high), _ir_version(constants), others)


class _Span(NamedTuple):
    """The range of opsets that keep every step's schema, the steps at its bounds, other domains."""

    low: int
    high: int
    first: Leaf | None
    last: Leaf | None
    others: dict[str, int]


def _span(steps: Sequence[Step]) -> _Span:
    low, high = _LOWEST, 2**31 - 1
    others: dict[str, int] = {}
    first = last = None
    for step in _all(steps):
        if not isinstance(step, Leaf):
            continue
        if step.domain not in ("", "ai.onnx"):
            others[step.domain] = max(others.get(step.domain, 1), step.version)
            continue
        since, until = registry().span("", step.op, step.version)
        if since > low:
            low, first = since, step
        if until < high:
            high, last = until, step
    return _Span(low, high, first, last, others)


def _wanted(steps: Sequence[Step]) -> int:
    controls = any(not isinstance(step, Leaf) for step in _all(steps))
    return _WITH_CONTROL_FLOW if controls else _LOWEST


def _show(step: Leaf) -> str:
    return f"{step.op}-{step.version}"


def _all(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        for _, body in bodies(step):
            yield from _all(body.steps)


def _ir_version(constants: Sequence[Constant]) -> int:
    dtypes = [c.data.dtype for c in constants if isinstance(c.data, Literal)]
    return max((_IR_OF.get(dtype, _LOWEST_IR) for dtype in dtypes), default=_LOWEST_IR)
