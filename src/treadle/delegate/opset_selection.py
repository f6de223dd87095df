"""The lowest opset and IR version in which a stretch means the same.

A leaf's version is the opset its schema came with, and it means the same until the next schema. So
a model of opset 28 whose steps are all older runs in an onnxruntime that guarantees 26.
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
    """The versions a model is stamped with."""

    opset: int
    ir_version: int = _LOWEST_IR
    others: Mapping[str, int] = field(default_factory=dict)

    @property
    def opsets(self) -> dict[str, int]:
        """The opset of every domain."""
        return {"": self.opset, **self.others}

    def raised_to(self, opset: int, steps: Sequence[Step]) -> TargetVersions:
        """The same with a newer opset, or as it is where the steps would mean something else."""
        if opset <= self.opset or opset > _span(steps).high:
            return self
        return replace(self, opset=opset)


def target_versions(steps: Sequence[Step], constants: Sequence[Constant]) -> TargetVersions:
    """The lowest stamp under which every step keeps its schema; Unsupported where there is none."""
    low, high, first, last, others = _span(steps)
    if low > high and low > _LOWEST:
        assert first is not None
        assert last is not None
        raise Unsupported(
            operator_of(first), first.version, f"no opset has both it and {_show(last)}"
        )
    wanted = _wanted(steps)
    return TargetVersions(min(max(low, wanted), high), _ir_version(constants), others)


class _Span(NamedTuple):
    """The opsets in which every step keeps its schema, who bounds them, and other domains'."""

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
