"""Small steps near a loop are absorbed into the loop's region, so that a run calls it once.

    region = the steps that an engine takes alone
    until no step is absorbed:
        absorb a step the engine takes only together with others where
            the region contains all its readers, or
            its operands come from the region or from outside the block, one from the region,
            or are read in the region already, or small steps make them of such values

The last are absorbed with it: `loop(x) + b[0]` is one region. A step that reads only values from
outside the block is not absorbed for its operands. A step that makes or reads a sliced value of
unknown length is not absorbed: as long as only loops use that value, its length stays dynamic in
the compiled code. Steps that make or read it item by item are absorbed: what they read is sliced in
turn. So is one that makes a list of the rows: as many Python objects take longer than code for each
length. At most 256 steps are absorbed, because each adds compile time.

Steps that lead from one loop of the region to another are absorbed first, if the engine links loops
by them: then the loops are one region, which can run both at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from treadle.ir import Block, Leaf, Loop, Step, Tensor, Value, ports, reads

_MOST = 256


def steps_to_absorb(
    block: Block,
    own: Collection[int],
    beside: Collection[int],
    links: Collection[int] = (),
    feeds: Collection[int] = (),
) -> set[int]:
    """The positions in `beside`, `links` and `feeds` to absorb into the region of those in `own`.

    Those in `links` are absorbed between two loops, even where they touch sliced values, and those
    in `feeds` where only absorbed steps read the sliced values that they make.
    """
    makers = {value: k for k, step in enumerate(block.steps) for value in step.results if value}
    readers = _readers(block)
    taken, most = {*own, *steps_between(block.steps, own, links)}, len(own) + _MOST
    fed = steps_before(block.steps, own, feeds)
    sliced = {value for k in own for value in _sliced(block.steps[k])}
    sliced.update(value for k in fed for value in _touched(block.steps[k]) if _is_open(value))
    forwards = [
        k for k in sorted(beside) if k in feeds or sliced.isdisjoint(_touched(block.steps[k]))
    ]
    backwards = sorted({*forwards, *fed}, reverse=True)
    leads = partial(_leads, block, readers)
    follows = partial(_follows, block, makers, readers, frozenset(forwards))
    for joined, positions in ((leads, backwards), (follows, forwards), (leads, backwards)):
        for position in positions:
            found = joined(position, taken)
            if len(taken) + len(found) <= most:
                taken |= found
    return taken.difference(own)


def steps_before(steps: Sequence[Step], own: Collection[int], feeds: Collection[int]) -> list[int]:
    """The positions in `feeds` of steps that make what a loop at `own` slices, or each other."""
    loops = [step for step in (steps[k] for k in own) if isinstance(step, Loop)]
    sliced = {port.operand for loop in loops for port in ports(loop).sliced}
    found = []
    for k in sorted(feeds, reverse=True):
        if not sliced.isdisjoint(steps[k].results):
            found.append(k)
            sliced.update(reads(steps[k]))
    return found


def steps_between(steps: Sequence[Step], own: Collection[int], links: Collection[int]) -> set[int]:
    """The positions in `links` of steps that lead from one loop at `own` to another."""
    loops = {k for k in own if isinstance(steps[k], Loop)}
    forwards, backwards = set(loops), set(loops)
    made = {value for k in loops for value in steps[k].results}
    for k in sorted(links):
        if any(value is not None and value in made for value in reads(steps[k])):
            forwards.add(k)
            made.update(steps[k].results)
    wanted = {value for k in loops for value in reads(steps[k])}
    for k in sorted(links, reverse=True):
        if any(value is not None and value in wanted for value in steps[k].results):
            backwards.add(k)
            wanted.update(reads(steps[k]))
    return (forwards & backwards) - loops


def _sliced(step: Step) -> Iterator[Value]:
    """The values that a loop slices along an axis of unknown length."""
    for port in ports(step).sliced if isinstance(step, Loop) else ():
        type_ = None if port.operand is None else port.operand.type
        shape = type_.shape if isinstance(type_, Tensor) else None
        is_told = shape is not None and isinstance(shape[port.role.axis], int)
        if port.operand is not None and not is_told:
            yield port.operand


def _is_open(value: Value) -> bool:
    """Whether an extent is not known, as far as the type shows."""
    shape = value.type.shape if isinstance(value.type, Tensor) else None
    return shape is None or not all(isinstance(extent, int) for extent in shape)


def _touched(step: Step) -> Iterator[Value]:
    """The values whose elements a step makes or reads, but for those of which it makes a list."""
    given = () if is_of_shape(step) or _is_list_of_rows(step) else reads(step)
    yield from (value for value in (*step.results, *given) if value is not None)


def is_of_shape(step: Step) -> bool:
    """Whether it reads no element of its operand."""
    return isinstance(step, Leaf) and not step.domain and step.op in ("Shape", "Size")


def _is_list_of_rows(step: Step) -> bool:
    return isinstance(step, Leaf) and not step.domain and step.op == "SplitToSequence"


def _readers(block: Block) -> Mapping[Value, Sequence[int]]:
    """The readers of each value; -1 stands for the results of the block."""
    readers: dict[Value, list[int]] = {}
    for position, step in enumerate(block.steps):
        for value in reads(step):
            if value is not None:
                readers.setdefault(value, []).append(position)
    for value in block.results:
        if value is not None:
            readers.setdefault(value, []).append(-1)
    return readers


def _leads(
    block: Block, readers: Mapping[Value, Sequence[int]], position: int, taken: set[int]
) -> set[int]:
    """The step, if only absorbed steps read it, or nothing: compiled code does without it."""
    results = [value for value in block.steps[position].results if value is not None]
    found = {k for value in results for k in readers.get(value, ())}
    return {position} if found <= taken else set()


def _follows(
    block: Block,
    makers: Mapping[Value, int],
    readers: Mapping[Value, Sequence[int]],
    small: Collection[int],
    position: int,
    taken: set[int],
) -> set[int]:
    """The step and those of `small` that make its operands; empty if it does not join.

    One operand must come from an absorbed step. Others must come from the steps found or from
    outside the block, or must be there for absorbed steps anyway.
    """

    def needed(k: int) -> set[int]:
        made = [value for value in reads(block.steps[k]) if value is not None and value in makers]
        return {makers[value] for value in made if taken.isdisjoint(readers[value])} - taken

    made = {makers.get(value) for value in reads(block.steps[position]) if value is not None}
    if taken.isdisjoint(made):
        return set()
    found, left = {position}, needed(position)
    while left:
        k = left.pop()
        if not any(reads(block.steps[k])) or k in found:
            continue
        if k not in small:
            return set()
        found.add(k)
        left |= needed(k)
    return found
