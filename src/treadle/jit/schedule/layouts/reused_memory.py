"""Memory that values take over from values that are not read any more.

A Scatter writes into the memory of the tensor that it changes; a result of an inner loop or of a
branch has that of the value it starts from (update_chains.py); what a side of a branch computes
anew overwrites that value; the next value of a carried array has the array's own memory. Each does
so only if all readers of the old value have run. Other next values are copied at the end of an
iteration: one that is read from a carried array comes before the copy to this array, as in
x, y = f(x, y), x. Those that exchange memory are saved first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from treadle.jit.kernel.ir import (
    Block,
    Branch,
    CarriedArg,
    Concat,
    Gather,
    Kernel,
    Loop,
    Node,
    Result,
    Scatter,
    Take,
    op_of,
)
from treadle.jit.kernel.traversal import inner_blocks, yielded
from treadle.jit.schedule.carried_storage import DoubleBuffer, SingleBuffer
from treadle.jit.schedule.fusion import Nest, Step
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.pipelines import Pipelines
from treadle.jit.schedule.read_order import ReadOrder
from treadle.jit.schedule.storage import Storage
from treadle.jit.schedule.update_chains import computed_anew, link_of, update_chains

_OWN_MEMORY = (Scatter, Concat, Gather, Take, Result)
"""Operations whose memory no other value is in, unless it has been taken over."""


@dataclass(frozen=True, eq=False, slots=True)
class ReusedMemory:
    """The values that take over memory.

    `taken`: the value whose memory another has. `updated`: carried arrays whose next value has
    their memory. `copied`: the numbers of the other ones of a loop, in the order of the copies.
    `saved`: next values that are read from memory which is changed before they are copied.
    """

    taken: Mapping[Node, Node]
    updated: Collection[Node]
    copied: Mapping[Node, Sequence[int]]
    saved: Collection[Node]


def reused_memory(
    kernel: Kernel,
    order: MemoryOrder,
    pipelines: Pipelines,
    blocks: Mapping[Block, tuple[Step, ...]],
    in_results: Collection[Node],
) -> ReusedMemory:
    """The memory that values of a kernel take over; `in_results` are in the memory of a result."""
    made = _Reuse(kernel, order, pipelines, blocks, in_results)
    made.block(kernel.main, _Chains())
    return ReusedMemory(made.taken, made.updated, made.copied, made.saved)


@dataclass(frozen=True, eq=False, slots=True)
class _Chains:
    """What a block may update: `into` are carried arrays by the links of their update chains.

    `over` are values that readers outside the block have read completely, with these; `anew` are
    results of a branch's side, and the values that they may overwrite.
    """

    into: Mapping[Node, Node] = field(default_factory=dict)
    over: frozenset[tuple[Node, Node]] = frozenset()
    anew: Mapping[Node, Node] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class _Reuse:
    """What is found block by block; `holder` is the first value in the memory of another."""

    kernel: Kernel
    memory: MemoryOrder
    pipelines: Pipelines
    blocks: Mapping[Block, tuple[Step, ...]]
    in_results: Collection[Node]
    taken: dict[Node, Node] = field(default_factory=dict)
    holder: dict[Node, Node] = field(default_factory=dict)
    updated: set[Node] = field(default_factory=set)
    copied: dict[Node, Sequence[int]] = field(default_factory=dict)
    saved: set[Node] = field(default_factory=set)

    def block(self, block: Block, chains: _Chains) -> None:
        """Follow the steps of a block in order."""
        order = ReadOrder(block, self.memory.storage, over=chains.over)
        for step in self.blocks[block]:
            if isinstance(step, Nest):
                self._nest(step, chains, order)
                order.done.update(step.nodes)
                continue
            match step.op:
                case Scatter() if self._may_overwrite(step, chains, order):
                    self._take(step, step.operands[0])
                case Loop():
                    self._loop(step, self._results(step, chains, order))
                case Branch():
                    self._branch(step, chains, order)
            order.done.add(step)

    def _take(self, node: Node, old: Node) -> None:
        self.taken[node] = old
        self.holder[node] = self._holder(old)

    def _holder(self, node: Node) -> Node:
        return self.holder.get(node, node)

    def _nest(self, nest: Nest, chains: _Chains, order: ReadOrder) -> None:
        for node in nest.nodes:
            base = chains.anew.get(node)
            if node in nest.in_place:
                self._take(node, nest.in_place[node])
            elif base is not None and order.are_over(base, nest.nodes):
                self._take(node, base)

    def _may_overwrite(self, node: Node, chains: _Chains, order: ReadOrder) -> bool:
        """Whether a Scatter changes its tensor where it is."""
        data, *others = node.operands
        results = self.kernel.results
        if self._kind(node) is not Storage.BUFFER or data in others:
            return False
        if node in self.in_results or data in results:
            return False
        state = chains.into.get(node)
        is_own = isinstance(data.op, _OWN_MEMORY) and data.home is node.home
        if not (
            (state is not None and self._is_in(data, state))
            or (is_own and self.memory.is_dense(data))
        ):
            return False
        return all(each is node or order.is_over(each, data) for each in self._readers(data))

    def _kind(self, node: Node) -> Storage:
        return self.memory.storage.storage_of[node]

    def _readers(self, node: Node) -> Iterable[Node]:
        return self.memory.storage.readers.get(node, ())

    def _is_in(self, node: Node, state: Node) -> bool:
        """Whether a node is in the memory of a carried array."""
        return self._holder(node) is self._holder(state)

    def _results(self, node: Node, chains: _Chains, order: ReadOrder) -> dict[Node, Node]:
        """The results of a loop or branch that have the memory of the value they start from."""
        found: dict[Node, Node] = {}
        if node in self.pipelines.found or node in self.pipelines.later:
            return found
        for part in self._readers(node):
            if isinstance(part.op, Result) and part in chains.into:
                link = link_of(part)
                assert link is not None
                base, state = link[1], chains.into[part]
                if self._is_free(node, part, base, order) and self._is_in(base, state):
                    found[part] = base
        return found

    def _is_free(self, node: Node, part: Node, base: Node, order: ReadOrder) -> bool:
        """Whether only this result of a loop or branch will read the value again."""
        if (
            self.memory.storage.storage_of[part] is not Storage.BUFFER
            or base in self.kernel.results
        ):
            return False
        inside: tuple[Block, ...] = ()
        if isinstance(node.op, Loop):
            if node.operands.count(base) != 1 or base in yielded(node):
                return False
        elif yielded(node).count(base) != _ends(node, part).count(base):
            return False
        else:
            inside = inner_blocks(node)
        return all(
            each is node or _is_inside(each, inside) or order.is_over(each, base)
            for each in self._readers(base)
        )

    def _loop(self, node: Node, results: Mapping[Node, Node]) -> None:
        op = op_of(node, Loop)
        carried = [self.memory.carried[state] for state in op.states]
        for part, base in results.items():
            if isinstance(carried[op_of(part, Result).number], SingleBuffer | DoubleBuffer):
                self._take(part, base)
        into = update_chains(op)
        self.block(op.body, _Chains(into))
        own = {step for step in self.blocks[op.body] if isinstance(step, Nest)}
        replaced = {node: state for nest in own for node, state in nest.in_place.items()}
        pairs = list(zip(op.states, op.nexts, carried, strict=True))
        for state, after, _ in pairs:
            if replaced.get(after) is state or (after in into and self._is_in(after, state)):
                self.updated.add(state)
        self.copied[node] = self._copies(
            {
                number: (state, after)
                for number, (state, after, kept) in enumerate(pairs)
                if isinstance(kept, SingleBuffer) and state not in {after, *self.updated}
            }
        )

    def _copies(self, pairs: Mapping[int, tuple[Node, Node]]) -> Sequence[int]:
        """The order in which next values are copied to their carried arrays."""
        own = {number: self._holder(state) for number, (state, _) in pairs.items()}
        read = {number: self._read_from(after) for number, (_, after) in pairs.items()}
        for number in pairs:
            if own[number] in read[number] or None in read[number]:
                self._save(pairs[number][1], read[number])
        found, waiting = list[int](), list(pairs)
        while waiting:
            free = (k for k in waiting if not any(own[k] in read[m] for m in waiting if m != k))
            first = next(free, None)
            if first is None:  # they exchange memory
                self._save(pairs[waiting[0]][1], read[waiting[0]])
                continue
            waiting.remove(first)
            found.append(first)
        return found

    def _save(self, after: Node, read: set[Node | None]) -> None:
        """Have a next value saved, which then is read from no carried array."""
        self.saved.add(after)
        read.clear()

    def _read_from(self, node: Node) -> set[Node | None]:
        """The values in whose memory a node is; None: memory that changes its place or its rows."""
        kind = self._kind(node)
        if kind is Storage.INLINE:
            return set[Node | None]().union(*map(self._read_from, node.operands))
        if kind is Storage.REGISTERS:
            return set()
        if not isinstance(node.op, CarriedArg):
            return {self._holder(node)}
        match self.memory.carried[node]:
            case DoubleBuffer():
                return set()
            case SingleBuffer():
                return {self._holder(node)}
        return {None}

    def _branch(self, node: Node, chains: _Chains, order: ReadOrder) -> None:
        op, results = op_of(node, Branch), self._results(node, chains, order)
        for part, base in results.items():
            self._take(part, base)
        for block in inner_blocks(node):
            over, anew = set(chains.over), {}
            for part, base in results.items():
                over |= {(r, base) for r in self._readers(base) if not _is_inside(r, (block,))}
                result = computed_anew(op, block, op_of(part, Result).number)
                if result is not None:
                    anew[result] = base
            into = chains.into if results else {}
            self.block(block, _Chains(into, frozenset(over), anew))


def _ends(node: Node, part: Node) -> tuple[Node, Node]:
    """The values that both sides of a Branch return for this result."""
    assert isinstance(node.op, Branch)
    number = op_of(part, Result).number
    return node.op.then_results[number], node.op.otherwise_results[number]


def _is_inside(node: Node, blocks: tuple[Block, ...]) -> bool:
    return any(block in blocks for block in node.home.outward())
