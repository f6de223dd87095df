"""Values that are computed in the memory of a result of the kernel."""

from __future__ import annotations

from collections.abc import Collection

from treadle.jit.kernel.ir import Branch, HostCall, Kernel, Loop, Node, Result, SymbolicDim
from treadle.jit.schedule.layouts.memory_order import in_same_order
from treadle.jit.schedule.storage import Storage, StorageMap


def in_results(
    kernel: Kernel, storage: StorageMap, exact: Collection[SymbolicDim]
) -> dict[Node, int]:
    """The number of the result in whose memory a value is; `exact` extents are known before it."""
    found: dict[Node, int] = {}
    for number, node in enumerate(kernel.results):
        source = in_same_order(node, storage)
        is_made = storage.storage_of[source] in (Storage.NEST, Storage.BUFFER) and _is_own(source)
        are_known = has_known_shape(node, exact) and has_known_shape(source, exact)
        if is_made and are_known and source not in found:
            found[source] = number
    return found


def has_known_shape(node: Node, exact: Collection[SymbolicDim]) -> bool:
    """Whether the shape is known before the kernel runs."""
    return all(isinstance(e, int) or e.source is None or e in exact for e in node.shape)


def _is_own(node: Node) -> bool:
    if isinstance(node.op, Result):
        return isinstance(node.operands[0].op, Loop | Branch | HostCall)
    return bool(node.operands)
