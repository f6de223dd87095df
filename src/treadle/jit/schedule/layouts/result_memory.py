"""The memory of results: values computed in that of the kernel's, and stacks that grow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from treadle.jit.kernel.ir import Branch, HostCall, Kernel, Loop, Node, Result, SymbolicDim, op_of
from treadle.jit.kernel.traversal import has_known_shape, stack_of
from treadle.jit.schedule.layouts.memory_order import in_same_order
from treadle.jit.schedule.loops.facts import grows, read_result
from treadle.jit.schedule.storage import Storage, StorageMap

_FIRST_ITEMS = 64
"""The items for which a stacked output of unknown length has room at first."""


@dataclass(frozen=True, slots=True)
class Growing:
    """A stacked output whose extents only the loop tells.

    Its memory has room for `items` at first, and doubles when it is full. None: it has room for all
    iterations, of which the first writes its item behind those of the others.
    """

    items: int | None

    def __str__(self) -> str:
        """As `explain --schedule` prints it."""
        if self.items is None:
            return "made in the first iteration, with room for all items"
        return f"grows, with room for {self.items} items at first"


def growing_results(storage: StorageMap) -> dict[Node, Growing]:
    """The stacked outputs whose extents are known after their loop, but not before."""
    stacks = ((node, stack_of(node)) for node in storage.storage_of)
    return {
        node: Growing(None if stack.reverse else _FIRST_ITEMS)
        for node, stack in stacks if stack is not None and grows(node)
    }  # fmt: skip


def gapped_elements(loops: Iterable[Node], kernel: Kernel, storage: StorageMap) -> Iterator[Node]:
    """The stacked elements that an iteration writes between those of others."""
    for node in loops:
        op = op_of(node, Loop)
        for number, stack in enumerate(op.stacks, start=len(op.states)):
            part, element = read_result(storage, kernel, node, number), stack.element
            is_whole = all(extent == 1 for extent in element.shape[: stack.axis])
            if part is not None and element.home is op.body and not (is_whole or grows(part)):
                yield element


def in_results(
    kernel: Kernel, storage: StorageMap, exact: Collection[SymbolicDim], *, may_reshape: bool
) -> dict[Node, int]:
    """The number of the result in whose memory a value is; `exact` extents are known before it.

    A result may have other extents, which are known after it: `may_reshape`, if the caller gives
    the memory its shape then (`invoke._take_shapes`).
    """
    found: dict[Node, int] = {}
    for number, node in enumerate(kernel.results):
        source = in_same_order(node, storage)
        is_made = storage.storage_of[source] in (Storage.NEST, Storage.BUFFER) and _is_own(source)
        are_known = has_known_shape(source, exact) and (may_reshape or has_known_shape(node, exact))
        if is_made and are_known and source not in found:
            found[source] = number
    return found


def _is_own(node: Node) -> bool:
    if isinstance(node.op, Result):
        return isinstance(node.operands[0].op, Loop | Branch | HostCall)
    return bool(node.operands)
