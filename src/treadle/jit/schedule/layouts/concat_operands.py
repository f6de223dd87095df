"""Concat elision: operands that are computed in the memory of their Concat.

A tensor that only a Concat reads is stored in its part of the Concat's memory, through nested
Concats, so that padded interiors are written once. Loops write their stacked outputs there too,
also where extents are dynamic, if these are known before the loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import Block, CarriedArg, Concat, Guard, Node, Scatter, op_of
from treadle.jit.kernel.traversal import shape_operands, stack_of
from treadle.jit.schedule.fusion import Nest, Step
from treadle.jit.schedule.loops.facts import grows
from treadle.jit.schedule.loops.kernel_facts import KernelFacts
from treadle.jit.schedule.pipelines import Pipeline
from treadle.jit.schedule.storage import Storage


@dataclass(frozen=True, eq=False, slots=True)
class ConcatOperands:
    """`into`: the Concat in whose memory an operand is computed.

    `once`: Concats and operands that no iteration changes: the first one writes them.
    """

    into: Mapping[Node, Node]
    once: Collection[tuple[Node, Node]]

    def has_all_to_write(self, join: Node) -> bool:
        """Whether a Concat writes all its operands in every iteration: none is there before."""
        return not any(
            self.into.get(operand) is join or (join, operand) in self.once
            for operand in join.operands
        )


def concat_operands(
    facts: KernelFacts,
    blocks: Mapping[Block, tuple[Step, ...]],
    pipelines: Mapping[Node, Pipeline] | None = None,
) -> ConcatOperands:
    """The operands that are computed in the memory of their Concats."""
    into = {}
    for steps in blocks.values():
        for node, nest, before in _stored(steps):
            join = None if node in facts.swapped else _only_reader(facts, node, nest)
            if join is None or not _may_hold(facts, join, node):
                continue
            if _are_static(join) or _has_room(before, join):
                into[node] = join
    staged = {loop for each in (pipelines or {}).values() for loop in each.loops}
    into.update(_stacked(facts, blocks, staged))
    once = {
        (step, operand)
        for steps in blocks.values()
        for step in steps
        if isinstance(step, Node) and isinstance(step.op, Concat)
        for operand in step.operands
        if _is_unchanged(facts, step, operand)
    }
    return ConcatOperands(into, once)


def _stored(
    steps: tuple[Step, ...],
) -> Iterator[tuple[Node, tuple[Node, ...], tuple[Step, ...]]]:
    """Members of nests and Concats, with the nodes of their nest, and the steps before it."""
    for number, step in enumerate(steps):
        if isinstance(step, Nest):
            own = (node for node in step.nodes if node not in step.in_place)
            yield from ((node, step.nodes, steps[:number]) for node in own)
        elif isinstance(step.op, Concat):
            yield step, (), steps[:number]


def _only_reader(facts: KernelFacts, node: Node, nest: tuple[Node, ...] = ()) -> Node | None:
    """The Concat that alone reads a node, and can hold it.

    `nest` are the nodes that read it while it is in a register.
    """
    readers = [each for each in facts.storage.readers.get(node, ()) if each not in nest]
    return readers[0] if len(readers) == 1 and node not in facts.kernel.results else None


def _holds(facts: KernelFacts, join: Node, node: Node) -> bool:
    return _are_static(join) and _may_hold(facts, join, node)


def _are_static(join: Node) -> bool:
    return join.is_static and all(operand.is_static for operand in join.operands)


def _has_room(before: Sequence[Step], join: Node) -> bool:
    """Whether a Concat has all extents after these steps, and is known to be as long as they are.

    The guards of the extents are among the steps then.
    """
    earlier = join.home.nodes[: join.home.nodes.index(join)]
    guards = [each for each in earlier if isinstance(each.op, Guard)]
    return all(guard in before for guard in guards) and _is_known(before, join)


def _may_hold(facts: KernelFacts, join: Node, node: Node) -> bool:
    """Whether it is a Concat in memory of which the node is one operand."""
    if not isinstance(join.op, Concat) or join.home is not node.home:
        return False
    is_plain = not any(isinstance(operand.op, CarriedArg) for operand in join.operands)
    is_lone = join.operands.count(node) == 1
    return is_plain and is_lone and facts.storage.storage_of[join] is Storage.BUFFER


def _stacked(
    facts: KernelFacts, blocks: Mapping[Block, tuple[Step, ...]], staged: Collection[Node]
) -> Iterator[tuple[Node, Node]]:
    """The stacked outputs of loops that lie in a Concat as in memory of their own."""
    if facts.kernel.limits_memory:
        return
    for steps in blocks.values():
        for node in (step for step in steps if not isinstance(step, Nest)):
            if stack_of(node) is None or grows(node) or node.operands[0] in staged:
                continue
            join = _only_reader(facts, node)
            if facts.storage.storage_of[node] is not Storage.BUFFER or join is None:
                continue
            before = steps[: steps.index(node.operands[0])]
            if _may_hold(facts, join, node) and _is_known(before, join):
                yield node, join


def _is_known(before: Sequence[Step], join: Node) -> bool:
    """Whether a Concat's operands follow each other, at places that are known after these steps."""
    axis = op_of(join, Concat).axis
    if any(extent != 1 for extent in join.shape[:axis]):
        return False
    sources = {source for each in (join, *join.operands) for source in shape_operands(each)}
    return all(source.home is not join.home or source in before for source in sources)


def _is_unchanged(facts: KernelFacts, join: Node, operand: Node) -> bool:
    """Whether the loop changes neither the operand nor its part of the memory."""
    if not join.home.is_loop or operand.home.depth >= join.home.depth:
        return False
    while join.is_static and join not in facts.swapped and not _is_scattered_into(facts, join):
        (reader, *others) = facts.storage.readers.get(join, (join,))
        if others or not _holds(facts, reader, join):
            return True
        join = reader
    return False


def _is_scattered_into(facts: KernelFacts, join: Node) -> bool:
    return any(isinstance(each.op, Scatter) for each in facts.storage.readers.get(join, ()))
