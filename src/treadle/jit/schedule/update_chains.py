"""Update chains: from the old value of a carried array to its next one.

A chain leads through Scatters, functions of a scattered array, inner loops that carry the array,
and branches whose sides both update it or return it unchanged; a side may also compute all of its
elements anew. Each link may reuse the memory of the link before it once all readers of that have
run.
"""

from __future__ import annotations

from treadle.jit.kernel.ir import Block, Branch, Elementwise, Loop, Node, Result, Scatter

_MAX_FUNCTIONS = 4
"""The functions of functions between a Scatter and the next value."""
_MOST_SCALAR_STORES = 8
"""The most elements of a Scatter that are stored one by one."""
UpdateChain = tuple[tuple[Node, ...], Node]


def update_chains(op: Loop) -> dict[Node, Node]:
    """The state that each link updates, for links that are the whole of its next value."""
    found: dict[Node, Node] = {}
    for state, after in zip(op.states, op.nexts, strict=True):
        links, base = update_chain_of(after, op.body)
        if base is state and op.nexts.count(after) == 1:
            found.update(dict.fromkeys(links, state))
    return found


def update_chain_of(node: Node, block: Block) -> UpdateChain:
    """The links that end in a node of the block, and the value that the first one starts from."""
    links: list[Node] = []
    while node.home is block:
        made = link_of(node)
        if made is None:
            break
        inner, base = made
        links += [node, *inner]
        node = base
    return tuple(links), node


def link_of(node: Node) -> UpdateChain | None:
    """The links inside the node, and their start value; None if it is not a link.

    A value of another shape does not fit into the memory of its start value.
    """
    if isinstance(node.op, Scatter):
        return (), node.operands[0]
    if isinstance(node.op, Elementwise):
        base = _changed_operand(node)
        return None if base is None else ((), base)
    if not isinstance(node.op, Result):
        return None
    around, number = node.operands[0], node.op.number
    match around.op:
        case Loop() as loop if number < len(loop.states):
            initial = around.operands[number - len(loop.states)]
            return ((), initial) if initial.shape == node.shape else None
        case Branch() as branch:
            sides = (branch.then, branch.then_results), (branch.otherwise, branch.otherwise_results)
            chains = [update_chain_of(results[number], side) for side, results in sides]
            bases = {base for _, base in chains if not _is_anew(base, branch)}
            links = [node for chain in chains for node in chain[0]]
            if len(bases) != 1 or any(made and _is_anew(base, branch) for made, base in chains):
                return None
            (base,) = bases
            is_outside = base.home not in (branch.then, branch.otherwise)
            if is_outside and (base.shape, base.dtype) == (node.shape, node.dtype):
                return (*links, *(each for _, each in chains if each is not base)), base
    return None


def _changed_operand(node: Node, steps: int = _MAX_FUNCTIONS) -> Node | None:
    """The operand of a function that is an array with elements written to it; None if none is."""
    like = (node.shape, node.dtype, node.home)
    alike = [each for each in node.operands if (each.shape, each.dtype, each.home) == like]
    for each in dict.fromkeys(alike):
        is_function = isinstance(each.op, Elementwise) and steps > 1
        if isinstance(each.op, Scatter) or (is_function and _changed_operand(each, steps - 1)):
            return each
    return None


def _is_anew(node: Node, branch: Branch) -> bool:
    """Whether a side of the branch computes the value element by element."""
    return isinstance(node.op, Elementwise) and node.home in (branch.then, branch.otherwise)


def computed_anew(branch: Branch, block: Block, number: int) -> Node | None:
    """The result that this side of a branch computes element by element."""
    node = (branch.then_results if block is branch.then else branch.otherwise_results)[number]
    return node if _is_anew(node, branch) else None


def has_scalar_stores(node: Node) -> bool:
    """Whether a Scatter in a loop combines few elements, and stores each of them alone.

    The next iteration often loads a vector of some of these elements. A load that spans two earlier
    vector stores waits until both have left the store buffer: an error diffusion with three
    neighbours takes 1.6 times as long with vector stores.
    """
    if not isinstance(node.op, Scatter) or not node.op.function or not node.home.is_loop:
        return False
    updates = node.operands[1]
    return updates.is_static and 1 < updates.size <= _MOST_SCALAR_STORES
