"""Specialization by value: small integer inputs that shapes depend on.

Shape computations before a loop reach it as small integer inputs. If their values are known,
extents are static; after several different values they stay dynamic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from treadle.jit.kernel.ir import (
    Concat,
    HostCall,
    Input,
    Kernel,
    Loop,
    Node,
    ScanSlice,
    SymbolicDim,
    View,
)
from treadle.jit.kernel.traversal import all_nodes, readers_of, stack_of
from treadle.jit.runtime.specialize import Signature, counting_inputs, trip_count_inputs

_MAX_ELEMENTS = 16
"""The number of elements of an input for whose values kernels are made."""
_MAX_VALUES = 2
"""The number of different values of one input that get a kernel each."""


@dataclass(eq=False, slots=True)
class ValueSpecialization:
    """The inputs that shapes depend on, by signature, and the values seen.

    `most_values` is the number of values of a signature that get their own kernel; 0 disables it.
    """

    most_values: int = _MAX_VALUES
    inputs: dict[Signature, tuple[int, ...]] = field(default_factory=dict)
    values: dict[Signature, set[Signature]] = field(default_factory=dict)
    all: tuple[int, ...] = ()

    def found(self, key: Signature, kernel: Kernel) -> bool:
        """Record the inputs that a kernel's shapes depend on; returns whether there are any."""
        inputs = set(_shaping(kernel)) if self.most_values else set[int]()
        if inputs:
            self.inputs[key] = tuple(sorted(inputs))
            self.all = tuple(sorted({*self.all, *inputs}))
        return bool(inputs)

    def forget(self, key: Signature) -> None:
        """Forget a dropped kernel of a signature with values, so that others may replace it."""
        for open_key, known in list(self.values.items()):
            known.discard(key)
            if not known:
                del self.values[open_key], self.inputs[open_key]

    def valued(self, key: Signature, arrays: Sequence[np.ndarray]) -> Signature:
        """The signature with the values of such inputs, unless too many different ones came."""
        places = self.inputs.get(key, ())
        if not places:
            return key
        made = tuple(
            (*entry[:2], arrays[k].tobytes()) if k in places else entry
            for k, entry in enumerate(key)
        )
        known = self.values.setdefault(key, set())
        if made not in known and len(known) >= self.most_values:
            return key
        known.add(made)
        return made


def _shaping(kernel: Kernel) -> Iterator[int]:
    counts, counting = trip_count_inputs(kernel), counting_inputs(kernel)
    nodes = all_nodes(kernel.main)
    readers = readers_of(nodes)
    shapes = (node.shape for node in nodes if not _are_rows(node, readers.get(node, ())))
    extents = {extent for shape in shapes for extent in shape if isinstance(extent, SymbolicDim)}
    for extent in extents:
        if extent.source is not None and extent not in counts:
            yield from set(_inputs(extent.source)) - counting


def _are_rows(node: Node, readers: Collection[Node]) -> bool:
    """Whether loops slice it, or stack it as a part of a tensor: a known extent gains nothing."""
    is_part = isinstance(node.op, View) or stack_of(node) is not None
    return is_part and all(isinstance(each.op, ScanSlice | Concat) for each in readers)


def _inputs(source: Node) -> Iterator[int]:
    """The small integer inputs that a number is computed from, if their values determine it.

    Results of a loop are not known before it runs.
    """
    seen, waiting = set[Node](), [source]
    while waiting:
        node = waiting.pop()
        if node in seen or isinstance(node.op, Loop):
            continue
        seen.add(node)
        if not isinstance(node.op, HostCall):
            waiting += node.operands
        if isinstance(node.op, Input) and _is_small(node):
            yield node.op.position


def _is_small(node: Node) -> bool:
    return node.is_static and node.dtype.numpy.kind == "i" and node.size <= _MAX_ELEMENTS
