"""In-place updates: the next value of a carried array takes the memory of the old one.

Each link of an update chain (schedule/update_chains.py) may reuse the memory once all readers of
the previous link have run.
"""

from __future__ import annotations

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.fused_nest import FusedNests, IterationEnd
from treadle.jit.kernel.ir import Block, Branch, Loop, Node, Result
from treadle.jit.kernel.traversal import inner_blocks, yielded
from treadle.jit.schedule.storage import Storage
from treadle.jit.schedule.update_chains import computed_anew, link_of


def reused_buffers(context: CodegenContext, node: Node, nests: FusedNests) -> dict[int, Buffer]:
    """The memory that results of a Loop or Branch reuse, by number."""
    found: dict[int, Buffer] = {}
    for part in context.access.places.readers.get(node, ()):
        if not isinstance(part.op, Result) or part not in nests.ending.into:
            continue
        made = link_of(part)
        assert made is not None
        base, state = made[1], nests.ending.into[part]
        if _is_free(context, node, part, base, nests) and is_in(context, base, state):
            found[part.op.number] = context.access.buffers[base]
    return found


def is_in(context: CodegenContext, node: Node, state: Node) -> bool:
    """Whether the node is stored in the memory of the state."""
    return node in context.access.buffers and context.access.buffers[
        node
    ] is context.access.buffers.get(state)


def _is_free(
    context: CodegenContext, node: Node, part: Node, base: Node, nests: FusedNests
) -> bool:
    """Whether only this result of the Loop or Branch will read the value again."""
    if context.access.storage_of(part) is not Storage.BUFFER or base in context.kernel.results:
        return False
    if isinstance(node.op, Loop):
        if node.operands.count(base) != 1 or base in yielded(node):
            return False
    elif yielded(node).count(base) != _ends(node, part).count(base):
        return False
    inside = inner_blocks(node) if isinstance(node.op, Branch) else ()
    return all(
        reader is node or _is_inside(reader, inside) or nests.order.is_over(reader, base)
        for reader in context.access.places.readers.get(base, ())
    )


def _ends(node: Node, part: Node) -> tuple[Node, ...]:
    """The values that both sides of a Branch return for this result."""
    assert isinstance(node.op, Branch)
    assert isinstance(part.op, Result)
    number = part.op.number
    return node.op.then_results[number], node.op.otherwise_results[number]


def _is_inside(node: Node, blocks: tuple[Block, ...]) -> bool:
    block: Block | None = node.home
    while block is not None and block not in blocks:
        block = block.parent
    return block is not None


def branch_side(
    context: CodegenContext, node: Node, block: Block, nests: FusedNests, numbers: dict[int, Buffer]
) -> IterationEnd:
    """The IterationEnd of one side of a branch: outer reads of the reused values are complete."""
    over: set[tuple[Node, Node]] = set()
    anew: dict[Node, Node] = {}
    assert isinstance(node.op, Branch)
    for part in context.access.places.readers.get(node, ()):
        if isinstance(part.op, Result) and part.op.number in numbers:
            made = link_of(part)
            assert made is not None
            base = made[1]
            readers = context.access.places.readers.get(base, ())
            over |= {(reader, base) for reader in readers if not _is_inside(reader, (block,))}
            result = computed_anew(node.op, block, part.op.number)
            if result is not None:
                anew[result] = base
    into = nests.ending.into if numbers else {}
    return IterationEnd(into=into, over=over | nests.ending.over, anew=anew)


def mark_updated(context: CodegenContext, node: Node, nests: FusedNests) -> None:
    """Record that the node, a next value, is now in its state's memory."""
    ending = nests.ending
    state = ending.into.get(node)
    if state is None or ending.loop is None or not isinstance(ending.loop.op, Loop):
        return
    if node in ending.loop.op.nexts and is_in(context, node, state):
        ending.written.add(state)
