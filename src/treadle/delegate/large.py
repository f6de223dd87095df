"""Runs regions of integer operators over large arrays with numpy instead of onnxruntime.

The forms of exact.py access every element up to eight times, which takes up to four times as long
as the operators they replace; numpy's operators are exact and as fast as onnxruntime's. Small
arrays stay with onnxruntime, except for products and powers, whose exact forms fail if a result may
be rounded.

Measured (int64, one thread, microseconds; onnxruntime's own operator, its exact form, numpy):

                    512 elements     32 x 512         32 x 4096
    Max             7    9    2      16   35    7     117  340  103
    Clip            7   10    8      24   50   14     143  496  125
    ReduceMax       7    7    5      20   52   11     194  507   79
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle import ops
from treadle.delegate.runnable import Session
from treadle.errors import KernelError
from treadle.ir import DType, Leaf, Literal, Operands, Step, Tensor, Value
from treadle.plan import NamedCall, Region, RunContext, RunnableTraits

MANY_BYTES = 1 << 16
"""Bytes of one input from which numpy is faster."""

_MOST_STEPS = 32
_OPERATORS = frozenset(
    {
        "Abs", "Add", "And", "Cast", "Clip", "Equal", "Greater", "GreaterOrEqual", "Less",
        "LessOrEqual", "Max", "Min", "Mul", "Neg", "Not", "Or", "Pow", "ReduceL1", "ReduceMax",
        "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Reshape", "Sign", "Squeeze",
        "Sub", "Unsqueeze", "Where", "Xor",
    }
)  # fmt: skip
_WHOLE = (DType.BOOL, DType.INT32, DType.INT64)
_CAST_TO = (*_WHOLE, DType.FLOAT32, DType.FLOAT64)

Evaluate = Callable[[Sequence[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class BySize:
    """The Runnable of such a region: chooses `evaluate` (numpy) or `session` by the input size.

    Numpy runs if an input has `many_bytes` or more: 0 if the session fails on some numbers.
    """

    session: Session
    evaluate: Evaluate
    many_bytes: int

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object]:
        """Run the region; raises FallbackRequired as the session does."""
        if _are_large(inputs, self.many_bytes):
            try:
                return self.evaluate(inputs)
            except KernelError:
                pass  # the session reports inputs that do not fit
        return self.session(inputs, context)

    def by_name(self, names: Sequence[str]) -> NamedCall | None:
        """A call by name, like the session's."""
        at_once = self.session.by_name(names)
        if at_once is None:
            return None
        order, evaluate, many_bytes = tuple(names), self.evaluate, self.many_bytes

        def call(feed: dict[str, object]) -> list[Any] | None:
            if _are_large(feed.values(), many_bytes):
                try:
                    return evaluate([feed[name] for name in order])
                except KernelError:
                    pass
            return at_once(feed)

        return call

    @property
    def traits(self) -> RunnableTraits:
        """All results are new arrays; inputs may come by name."""
        return RunnableTraits(returns_fresh_arrays=True, by_name=self.by_name)


def _are_large(inputs: Iterable[object], many_bytes: int) -> bool:
    return any(isinstance(value, np.ndarray) and value.nbytes >= many_bytes for value in inputs)


def by_numpy(region: Region) -> Evaluate | None:
    """The function that evaluates the region with numpy.

    None if it has other than integer operators.
    """
    if len(region.steps) > _MOST_STEPS or not all(map(_is_whole, region.steps)):
        return None
    attribute = {c.value: c.data.array for c in region.constants if isinstance(c.data, Literal)}
    if len(attribute) < len(region.constants):
        return None
    leaves = [step for step in region.steps if isinstance(step, Leaf)]
    kernels = [
        (leaf.operands, ops.bind_kernel(leaf, silent=False), leaf.results) for leaf in leaves
    ]

    def evaluate(inputs: Sequence[Any]) -> list[Any]:
        values: dict[Value, Any] = {**attribute, **dict(zip(region.inputs, inputs, strict=True))}
        with ops.ignore_fp_warnings():
            for operands, kernel, results in kernels:
                given = kernel([None if v is None else values[v] for v in operands])
                values.update((v, each) for v, each in zip(results, given, strict=True) if v)
        return _own([values[value] for value in region.outputs], [*inputs, *attribute.values()])

    return evaluate


def _is_whole(step: Step) -> bool:
    if not isinstance(step, Leaf) or step.domain or step.op not in _OPERATORS:
        return False
    given = _WHOLE if step.op != "Cast" else _CAST_TO
    return _all_of(step.operands, _WHOLE) and _all_of(step.results, given)


def _all_of(values: Operands, dtypes: Sequence[DType]) -> bool:
    types = [value.type for value in values if value is not None]
    return all(isinstance(type_, Tensor) and type_.dtype in dtypes for type_ in types)


def _own(results: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """The results, copied where they share memory with another array."""
    own: list[Any] = []
    for result in results:
        shares = any(np.may_share_memory(result, other) for other in (*others, *own))
        own.append(result.copy() if shares else result)
    return own
