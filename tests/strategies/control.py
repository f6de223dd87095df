"""Steps with bodies: any form of Loop, Scan and If."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tests.strategies.block import KINDS, Block, Writer
from tests.strategies.leaf import leaf
from tests.strategies.shaped import shaped
from tests.strategies.wild import wild

BOUNDS = {"F": (-50.0, 50.0), "I": (-50, 50)}
STACKS = {"F": "E", "I": "J"}
DEEPEST = 3


def fill(writer: Writer, block: Block, most: int) -> None:
    """Write a few steps."""
    for _ in range(writer.draw(st.integers(1, most))):
        simple = [leaf, leaf, *([shaped] if writer.grows else []), *([wild] if writer.wild else [])]
        forms = [*simple, loop, scan, branch]
        writer.pick(forms if block.depth < DEEPEST else simple)(writer, block)


def body(block: Block, params: Sequence[tuple[str, str]]) -> tuple[Block, str]:
    """A block inside, and the text of its parameters."""
    inner = Block(block.depth + 1, list(block.visible))
    names = [inner.define(inner.name(kind), kind) for kind, _ in params]
    texts = [f"{type_} {n}" for n, (_, type_) in zip(names, params, strict=True)]
    return inner, ", ".join(texts)


def result(writer: Writer, inner: Block, kind: str, banned: set[str]) -> str:
    """A value of the body's own: one that is there, maybe a parameter, or a new one."""
    own = [name for name in inner.own if name[1] == kind and name[0] not in banned]
    if own and writer.chance():
        return writer.pick(own)[0]
    seen = inner.of(kind)
    if not seen:
        return inner.constant(kind, {"B": 1}.get(kind, 2))
    return inner.step(kind, f"Identity ({writer.pick(seen)})")


def clipped(
    writer: Writer, inner: Block, kind: str, banned: set[str], params: Sequence[str]
) -> str:
    """A result that loops can carry: clipped, unless it is a parameter."""
    name = result(writer, inner, kind, banned)
    if kind not in "FIVW" or name in params:
        return name
    scalar = "F" if kind in "FV" else "I"
    low, high = (inner.constant(scalar, value) for value in BOUNDS[scalar])
    return inner.step(kind, f"Clip ({name}, {low}, {high})")


def carried(writer: Writer, block: Block, most: int, kinds: str) -> list[tuple[str, str]]:
    """Initial values with their kinds."""
    options = [(n, k) for n, k in block.visible if k in kinds]
    return writer.draw(st.lists(st.sampled_from(options), max_size=most)) if options else []


def emit(block: Block, op: str, inner: Block, head: str, results, given) -> None:
    """The step with its body, and what it defines."""
    types = ", ".join(f"{KINDS[kind]} {name}" for kind, name in results)
    names = [block.name(kind) for kind in given]
    inside = "".join(f"\n{'  ' * inner.depth}  {line}" for line in inner.lines)
    outs = ", ".join(names)
    block.lines.append(f"{outs} = {op} <{head} => ({types}) {{{inside}\n{'  ' * inner.depth}}}>")
    for name, kind in zip(names, given, strict=True):
        block.define(name, kind)


def loop(writer: Writer, block: Block) -> None:
    """A Loop with any form of trip count and condition."""
    trip = writer.pick([None, "constant", "value"])
    if trip == "constant":
        trip = block.constant("I", writer.pick([0, 1, 2, 5]))
    elif trip == "value":
        bounds = block.constant("I", -1), block.constant("I", 4)
        trip = block.step("I", f"Clip ({writer.pick(block.of('I'))}, {', '.join(bounds)})")
    go = writer.pick(["", *block.of("B")])
    kinds = "FIBVWL" + "ES" * writer.grows + "TO" * writer.wild
    states = carried(writer, block, 3, kinds)
    params = [("I", "int64"), ("B", "bool"), *((k, KINDS[k]) for _, k in states)]
    inner, text = body(block, params)
    given = [name for name, _ in inner.own]
    number, condition, *_ = given
    fill(writer, inner, 3)
    banned = {number} if writer.careful else set()
    again = next_condition(writer, inner, number, condition, trip)
    nexts = [clipped(writer, inner, kind, banned, given) for _, kind in states]
    stacks = writer.draw(st.lists(st.sampled_from("FI"), min_size=not states, max_size=2))
    items = [result(writer, inner, kind, banned) for kind in stacks]
    kinds = [k for _, k in states]
    results = [("B", again), *zip(kinds + stacks, nexts + items, strict=True)]
    inputs = ", ".join([trip or '""', go or '""', *(name for name, _ in states)])
    emit(
        block, f"Loop ({inputs})", inner, f"body = b ({text})", results,
        kinds + [STACKS[kind] for kind in stacks],
    )  # fmt: skip


def next_condition(
    writer: Writer, inner: Block, number: str, condition: str, trip: str | None
) -> str:
    """Whether to go on; bounded by the iteration number where no trip count bounds it."""
    form = writer.pick(["bounded"] if trip is None else ["same", "bounded", "any"])
    if form == "same":
        return inner.step("B", f"Identity ({condition})")
    if form == "any":
        return result(writer, inner, "B", set())
    return inner.step("B", f"Less ({number}, {inner.constant('I', writer.pick([0, 1, 3]))})")


def scan(writer: Writer, block: Block) -> None:
    """A Scan over one or two tensors of three, or over one list twice."""
    lists = block.of("L") if writer.careful else block.of("L") + block.of("E")
    if lists and writer.chance():
        sources, kind = [writer.pick(lists)] * writer.pick([1, 2]), "E"
    else:
        options = [(n, k) for n, k in block.visible if k in "VW"]
        sources = writer.draw(st.lists(st.sampled_from(options), min_size=1, max_size=2))
        kind = "V"
    named = [(s, "L") if isinstance(s, str) else s for s in sources]
    items = [{"V": "F", "W": "I", "L": "F"}[k] for _, k in named]
    states = carried(writer, block, 2, "FIBVW")
    kinds = [k for _, k in states]
    inner, text = body(block, [(k, KINDS[k]) for k in kinds + items])
    given = [name for name, _ in inner.own]
    fill(writer, inner, 3)
    banned = set(given) if writer.careful else set()
    stacks = writer.draw(st.lists(st.just("F"), min_size=not states, max_size=2))
    names = []
    for state in kinds:
        names.append(clipped(writer, inner, state, banned, given))
        banned |= {names[-1]} if writer.careful else set()
    for stack in stacks:
        names.append(result(writer, inner, stack, banned))
        banned |= {names[-1]} if writer.careful else set()
    directions = ", ".join(str(int(writer.chance())) for _ in items)
    outward = ", ".join(str(int(writer.chance())) for _ in stacks)
    head = f"num_scan_inputs = {len(items)}, scan_input_directions = [{directions}], "
    head += f"scan_output_directions = [{outward}], " if stacks else ""
    inputs = ", ".join(name for name, _ in states + named)
    stacked = {"V": "V", "E": "L" if writer.careful else "E"}[kind]
    emit(
        block, f"Scan ({inputs})", inner, f"{head}body = b ({text})",
        list(zip(kinds + stacks, names, strict=True)), kinds + [stacked] * len(stacks),
    )  # fmt: skip


def branch(writer: Writer, block: Block) -> None:
    """An If with one or two results."""
    there = "FIBVL" + "".join(kind for kind in "TO" if block.of(kind))
    kinds = writer.draw(st.lists(st.sampled_from(there), min_size=1, max_size=2))
    texts = []
    for word in ("then", "else"):
        inner, _ = body(block, [])
        fill(writer, inner, 2)
        names = []
        for kind in kinds:
            names.append(result(writer, inner, kind, set(names) if writer.careful else set()))
        types = ", ".join(f"{KINDS[k]} {n}" for k, n in zip(kinds, names, strict=True))
        pad = "  " * inner.depth
        inside = "".join(f"\n{pad}  {line}" for line in inner.lines)
        texts.append(f"{word}_branch = {word[0]} () => ({types}) {{{inside}\n{pad}}}")
    names = [block.name(kind) for kind in kinds]
    condition = writer.pick(block.of("B"))
    block.lines.append(f"{', '.join(names)} = If ({condition}) <{', '.join(texts)}>")
    for name, kind in zip(names, kinds, strict=True):
        block.define(name, kind)
