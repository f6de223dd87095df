"""Kernels that may take long: a thread of its own runs one, so that the caller can return first.

numpy does not stop inside a product, and Python handles Ctrl-C between its own instructions only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any

import numpy as np

from treadle import ops
from treadle.ir import Leaf
from treadle.plan.abandoned import copied, is_long
from treadle.plan.run import RunContext

_LARGE = 2**26
"""Bytes of operands or of the result from which any kernel may take long."""
_LARGE_IN_PYTHON = 2**16
"""The same for kernels that go from element to element, or step to step, in Python."""
_IN_PYTHON = frozenset({
    "GRU", "LSTM", "MaxRoiPool", "MaxUnpool", "NonMaxSuppression", "RNN", "Resize",
    "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor", "Unique", "Upsample",
})  # fmt: skip
"""Such kernels of our own; those of onnx.reference all count as such."""
_IsLong = Callable[[Sequence[Any], float, RunContext], bool]


def is_long_for(leaf: Leaf) -> _IsLong:
    """Whether a kernel may take long, by its operands, the bytes of its result, and the run."""
    count = ops.multiplications(leaf)
    is_large = partial(_is_large, most=_LARGE_IN_PYTHON if _is_in_python(leaf) else _LARGE)
    if count is None:
        return is_large

    def is_long_product(operands: Sequence[Any], size: float, context: RunContext) -> bool:
        work = 0.0
        with suppress(*ops.MISFITS):  # the kernel itself reports its faulty operands
            work = count(operands)
        if work <= ops.FEW:
            return is_large(operands, size, context)
        return is_long(work, sum(each.size for each in operands if each is not None), context)

    return is_long_product


def _is_in_python(leaf: Leaf) -> bool:
    kernel = ops.kernel(leaf.domain, leaf.op, leaf.version)
    return leaf.op in _IN_PYTHON or (kernel is not None and kernel.source == "onnx.reference")


def _is_large(operands: Sequence[Any], size: float, context: RunContext, most: int) -> bool:
    if not context.may_stop:
        return False
    for each in operands:
        if isinstance(each, np.ndarray):
            size += each.nbytes
            most = _LARGE_IN_PYTHON if each.dtype.hasobject else most
    return size > most


def run_abandonable(
    kernel: Callable[[Sequence[Any]], Sequence[Any]],
    operands: Sequence[Any],
    context: RunContext,
    path: str,
) -> Sequence[Any]:
    """Call the kernel on copies in a thread; raises when the run must stop before it has ended."""
    if context.abandoned is None:
        return kernel(operands)
    copies = [copied(each) for each in operands]
    work = partial(copy_context().run, kernel, copies)
    return context.abandoned.run(work, context, path)
