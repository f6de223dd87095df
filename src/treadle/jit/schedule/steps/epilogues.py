"""Epilogues of nests: reductions of what a nest computes, in the same pass over it.

    S = a * S + u          for each element: S = a * S + u; y += q * S
    y = sum of q * S

The reduction visits each element of its operand once, and the nest's values are stored on the way.
So it is where the reduction is the next step, and reads what the nest computes at its own index.
Declines for long functions and for sums of short rows: with those a selective scan of 256 x 16
states takes 1.13 of the time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

from treadle.jit.kernel.ir import Node, Reduce
from treadle.jit.schedule.fusion import Nest, Step
from treadle.jit.schedule.nest_size import is_expensive
from treadle.jit.schedule.parallelism import Parallelism
from treadle.jit.schedule.read_order import is_own_index_read
from treadle.jit.schedule.steps.forms import Form, StepForm
from treadle.jit.schedule.storage import Storage, StorageMap

_FORMS = (Form.ROWS, Form.EACH)
_ROWS_TOGETHER = 4
"""The rows that are computed and added at once: their factors stay in registers (16 of AVX2).

Linear attention of 64 x 64 states takes 0.87 of the time, of 128 x 128 states 0.70 (Zen 3).
"""
_LONG_ROW = 64
"""The elements of a row from which its sum is added up beside other work."""


def epilogues(
    blocks: Iterable[tuple[Step, ...]],
    storage: StorageMap,
    forms: Mapping[Node, StepForm],
    parallelism: Mapping[Step, Parallelism],
    once: Collection[Step],
) -> dict[Nest, Node]:
    """The reduction that runs in a nest, for each nest that has one; `once` are written once."""
    found = {}
    for steps in blocks:
        for nest, step in pairwise(steps):
            if not isinstance(nest, Nest) or isinstance(step, Nest) or step not in forms:
                continue
            is_plain = parallelism[nest].chunk is None and nest not in once
            if is_plain and _is_epilogue(nest, step, storage, forms[step]):
                found[nest] = step
    return found


def epilogue_form(form: StepForm) -> StepForm:
    """The form that a reduction has as an epilogue."""
    return replace(form, together=min(form.together, _ROWS_TOGETHER))


def _is_epilogue(nest: Nest, step: Node, storage: StorageMap, form: StepForm) -> bool:
    if not isinstance(step.op, Reduce) or storage.storage_of[step] is not Storage.BUFFER:
        return False
    if form.form not in _FORMS or form.in_blocks or form.chunk is not None:
        return False
    (source,) = step.operands
    if any(map(is_expensive, nest.nodes)) or (form.form is Form.EACH and _has_short_rows(source)):
        return False
    if nest.pieces is not None or not source.is_static or source.shape != nest.nodes[0].shape:
        return False
    return _reads_at_own_index(source, nest, storage)


def _has_short_rows(source: Node) -> bool:
    row = source.shape[-1]
    return isinstance(row, int) and row < _LONG_ROW


def _reads_at_own_index(source: Node, nest: Nest, storage: StorageMap) -> bool:
    """Whether a value is computed from some of the nest's, each at its own index."""
    waiting, seen, is_read = [(source, True)], {source}, False
    while waiting:
        node, is_own = waiting.pop()
        if node in nest.nodes:
            if not is_own:
                return False
            is_read = True
        elif storage.storage_of[node] is Storage.INLINE and node.home is source.home:
            for operand in node.operands:
                keeps = is_own and is_own_index_read(node, operand)
                if operand not in seen or not keeps:
                    seen.add(operand)
                    waiting.append((operand, keeps))
    return is_read
