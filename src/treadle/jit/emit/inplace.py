"""Carried values that are only written into: the old one's memory is the next one's.

A next value may be Puts into the old one, one after the other, inner loops that carry it on, and
branches both of whose sides do so or leave it alone. What becomes of the value between is its
chain; each link takes over the memory where all who read the link before have done so.
"""

from __future__ import annotations

from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.nest import Ending, Nests
from treadle.jit.emit.place import Place
from treadle.jit.kernel_ir import Block, Branch, Loop, Node, Part, Put
from treadle.jit.walk import inner_blocks, leaving

Links = tuple[tuple[Node, ...], Node]


def chains(op: Loop) -> dict[Node, Node]:
    """The state each link goes into, of those that are all of its next value."""
    found: dict[Node, Node] = {}
    for state, after in zip(op.states, op.nexts, strict=True):
        links, base = links_of(after, op.body)
        if base is state and op.nexts.count(after) == 1:
            found.update(dict.fromkeys(links, state))
    return found


def links_of(node: Node, block: Block) -> Links:
    """The links that end in a node of the block, and what the first of them starts from."""
    links: list[Node] = []
    while node.home is block:
        made = _link(node)
        if made is None:
            break
        inner, base = made
        links += [node, *inner]
        node = base
    return tuple(links), node


def _link(node: Node) -> Links | None:
    """The links inside the node, and the value it starts from; None where it is no link."""
    if isinstance(node.op, Put):
        return (), node.operands[0]
    if not isinstance(node.op, Part):
        return None
    around, number = node.operands[0], node.op.number
    match around.op:
        case Loop() as loop if number < len(loop.states):
            return (), around.operands[number - len(loop.states)]
        case Branch() as branch:
            sides = (branch.then, branch.then_results), (branch.otherwise, branch.otherwise_results)
            (first, base), (second, other) = (links_of(r[number], side) for side, r in sides)
            if base is other and base.home not in (branch.then, branch.otherwise):
                return (*first, *second), base
    return None


def taken(e: Emitter, node: Node, nests: Nests) -> dict[int, Buffer]:
    """The memory that parts of a Loop or Branch take over, by number."""
    found: dict[int, Buffer] = {}
    if nests.ending.into:
        nests.flush_all()
    for part in e.t.places.readers.get(node, ()):
        if not isinstance(part.op, Part) or part not in nests.ending.into:
            continue
        made = _link(part)
        assert made is not None
        base, state = made[1], nests.ending.into[part]
        if _is_free(e, node, part, base, nests) and is_in(e, base, state):
            found[part.op.number] = e.t.buffers[base]
    return found


def is_in(e: Emitter, node: Node, state: Node) -> bool:
    """Whether the node is kept in the memory of the state."""
    return node in e.t.buffers and e.t.buffers[node] is e.t.buffers.get(state)


def _is_free(e: Emitter, node: Node, part: Node, base: Node, nests: Nests) -> bool:
    """Whether nobody but the Loop or Branch, for this part of it, will read the value again."""
    if e.t.place(part) is not Place.BUFFER or base in e.kernel.results:
        return False
    if isinstance(node.op, Loop):
        if node.operands.count(base) != 1 or base in leaving(node):
            return False
    elif leaving(node).count(base) != _ends(node, part).count(base):
        return False
    inside = inner_blocks(node) if isinstance(node.op, Branch) else ()
    return all(
        reader is node or _is_inside(reader, inside) or nests.is_over(reader, base, [])
        for reader in e.t.places.readers.get(base, ())
    )


def _ends(node: Node, part: Node) -> tuple[Node, ...]:
    """What both sides of a Branch give as this part."""
    assert isinstance(node.op, Branch)
    assert isinstance(part.op, Part)
    number = part.op.number
    return node.op.then_results[number], node.op.otherwise_results[number]


def _is_inside(node: Node, blocks: tuple[Block, ...]) -> bool:
    block: Block | None = node.home
    while block is not None and block not in blocks:
        block = block.parent
    return block is not None


def side(e: Emitter, node: Node, block: Block, nests: Nests, numbers: dict[int, Buffer]) -> Ending:
    """The ending of one side of a branch: who reads what it takes over outside of it is over."""
    over: set[tuple[Node, Node]] = set()
    for part in e.t.places.readers.get(node, ()):
        if isinstance(part.op, Part) and part.op.number in numbers:
            made = _link(part)
            assert made is not None
            base = made[1]
            readers = e.t.places.readers.get(base, ())
            over |= {(reader, base) for reader in readers if not _is_inside(reader, (block,))}
    into = nests.ending.into if numbers else {}
    return Ending(into=into, over=over | nests.ending.over)


def settle(e: Emitter, node: Node, nests: Nests) -> None:
    """Note it where the node is a next value that is in its state's memory now."""
    ending = nests.ending
    state = ending.into.get(node)
    if state is None or ending.loop is None or not isinstance(ending.loop.op, Loop):
        return
    if node in ending.loop.op.nexts and is_in(e, node, state):
        ending.written.add(state)
