"""hypothesis strategies: random programs of nested Loops, Scans and Ifs over small operators.

A program is ONNX text with feeds. Every body's text is closed by capture at any depth; siblings use
the same names. Values have one of eight kinds, written as in the text: a scalar, a tensor of three,
a list whose length is found at run time. Whatever a loop carries is clipped, so that no engine's
rounding, overflow or NaN makes a difference, and every loop ends.

`programs(grows=True)` has more of what only the run tells: lists that loops make longer and
shorter, sequences, parts and shapes made of whole numbers.

`programs(onnxruntime_is_right=True)` leaves out what onnxruntime gets wrong: an iteration number as
a body's result, Scan results that are parameters or listed twice, If results listed twice, Scans
over nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

KINDS = {
    "F": "float",
    "I": "int64",
    "B": "bool",
    "V": "float[3]",
    "W": "int64[3]",
    "L": "float[]",  # a list of at least one
    "E": "float[]",  # a list that may be empty
    "J": "int64[]",  # one of whole numbers
    "S": "seq(float)",
}
BOUNDS = {"F": (-50.0, 50.0), "I": (-50, 50)}
STACKS = {"F": "E", "I": "J"}
DEEPEST = 3
ZERO = "Constant <value = int64[1] {0}> ()"

# operator, kinds of the operands, kind of the result
STEPS = (
    *(
        (op, kinds, result)
        for op in ("Add", "Sub", "Min", "Max")
        for kinds, result in (("FF", "F"), ("II", "I"), ("VV", "V"), ("WW", "W"))
    ),
    *((op, (a, b), c) for op in ("Add", "Sub") for a, b, c in ("FVV", "WIW", "LFL", "VFV")),
    *((op, kind, kind) for op in ("Neg", "Identity", "Abs") for kind in "FIVWLEJ"),
    *((op, "FF", "B") for op in ("Less", "Greater", "Equal")),
    *((op, "II", "B") for op in ("Less", "Greater", "Equal")),
    *((op, "BB", "B") for op in ("And", "Or", "Xor")),
    ("Not", "B", "B"),
    *(("Where", ("B", kind, kind), kind) for kind in "FIVW"),
    ("Mul", "II", "I"),
    *(("ReduceMax <keepdims = 0>", (kind,), "F") for kind in "VL"),
    *(("ReduceSum <keepdims = 0>", (kind,), "I") for kind in "WJ"),
    *(("Size", (kind,), "I") for kind in "LEJ"),
    *(("Cast <to = 1>", (kind,), result) for kind, result in ("IF", "BF", "WV")),
    *(("Cast <to = 7>", (kind,), result) for kind, result in ("FI", "BI", "VW")),
    *(("Concat <axis = 0>", kinds, "L") for kinds in ("VV", "VE", "EV")),
)


@dataclass(frozen=True)
class Program:
    """A model as text, and inputs for it."""

    text: str
    feeds: Mapping[str, np.ndarray]

    def __repr__(self) -> str:
        return f"{self.text}\n{dict(self.feeds)}"


@dataclass
class Block:
    """A block being written: what it can see, and its lines."""

    depth: int
    visible: list[tuple[str, str]]
    own: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    number: itertools.count = field(default_factory=itertools.count)

    def name(self, kind: str) -> str:
        """A new name; the same ones come up in every sibling."""
        return f"{kind.lower()}{self.depth}_{next(self.number)}"

    def define(self, name: str, kind: str) -> str:
        """A name that is visible from now on, and this block's own."""
        self.visible.append((name, kind))
        self.own.append((name, kind))
        return name

    def step(self, kind: str, text: str) -> str:
        """A line with one result."""
        name = self.name(kind)
        self.lines.append(f"{name} = {text}")
        return self.define(name, kind)

    def of(self, kind: str, *, own: bool = False) -> list[str]:
        """The names of a kind."""
        return [n for n, k in (self.own if own else self.visible) if k == kind]

    def line(self, text: str) -> str:
        """A line with one result that nothing else reads."""
        name = f"t{self.depth}_{next(self.number)}"
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, kind: str, value: object) -> str:
        """A scalar constant."""
        return self.step(kind, f"Constant <value = {KINDS[kind]} {{{value}}}> ()")


class Writer:
    """Draws a program; one instance a program."""

    def __init__(self, draw: Callable, careful: bool, grows: bool = False) -> None:
        self.draw, self.careful, self.grows = draw, careful, grows
        self.params = 0

    def pick(self, options: Sequence):
        return self.draw(st.sampled_from(list(options)))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    def fill(self, block: Block, most: int) -> None:
        """Write a few steps."""
        for _ in range(self.draw(st.integers(1, most))):
            simple = ["leaf", "leaf", "shaped"] if self.grows else ["leaf", "leaf"]
            kinds = [*simple, "loop", "scan", "branch"]
            getattr(self, self.pick(kinds if block.depth < DEEPEST else simple))(block)

    def leaf(self, block: Block) -> str:
        """Any operator whose operands are there."""
        there = {kind for _, kind in block.visible}
        op, kinds, result = self.pick([s for s in STEPS if there.issuperset(s[1])])
        operands = ", ".join(self.pick(block.of(kind)) for kind in kinds)
        return block.step(result, f"{op} ({operands})")

    def shaped(self, block: Block) -> str:
        """A few steps whose result's shape, or way, only the run tells."""
        forms = [self.part, self.item, self.filled, self.counted, self.longer, self.found]
        forms += [self.sequence, self.element, self.joined]
        return self.pick(forms)(block)

    def few(self, block: Block, low: int = 0) -> str:
        """A list of one whole number from `low` to 4."""
        bounds = block.constant("I", low), block.constant("I", 4)
        number = block.step("I", f"Clip ({self.pick(block.of('I'))}, {', '.join(bounds)})")
        return block.line(f"Unsqueeze ({number}, {block.line(ZERO)})")

    def any_list(self, block: Block) -> str:
        lists = block.of("L") + block.of("E")
        return self.pick(lists) if lists else self.pick(block.of("V"))

    def part(self, block: Block) -> str:
        """From one number to another, which may be nothing."""
        first, last = self.few(block, -3), self.few(block, -1)
        step = block.line(f"Constant <value = int64[1] {{{self.pick([1, 1, 2, -1])}}}> ()")
        given = f"{self.any_list(block)}, {first}, {last}, {block.line(ZERO)}, {step}"
        return block.step("E", f"Slice ({given})")

    def item(self, block: Block) -> str:
        """One that is there."""
        lists = block.of("L") or block.of("V")
        at = block.line(f"Constant <value = int64 {{{self.pick([0, -1])}}}> ()")
        return block.step("F", f"Gather ({self.pick(lists)}, {at})")

    def filled(self, block: Block) -> str:
        """A scalar some times."""
        return block.step("E", f"Expand ({self.pick(block.of('F'))}, {self.few(block)})")

    def counted(self, block: Block) -> str:
        """Numbers up to one."""
        most = block.line(f"Squeeze ({self.few(block)})")
        zero, one = block.constant("I", 0), block.constant("I", 1)
        return block.step("J", f"Range ({zero}, {most}, {one})")

    def longer(self, block: Block) -> str:
        """A list with one more."""
        one = block.line(f"Unsqueeze ({self.pick(block.of('F'))}, {block.line(ZERO)})")
        parts = [self.any_list(block), one]
        return block.step("L", f"Concat <axis = 0> ({', '.join(parts[:: self.pick([1, -1])])})")

    def found(self, block: Block) -> str:
        """The elements that are above zero."""
        given = self.any_list(block)
        mask = block.line(f"Greater ({given}, {block.constant('F', 0.0)})")
        return block.step("E", f"Compress <axis = 0> ({given}, {mask})")

    def sequence(self, block: Block) -> str:
        """One, or one with an element more or less."""
        there, new = block.of("S"), self.pick(block.of("F"))
        if not there or self.chance():
            return block.step("S", f"SequenceConstruct ({new}, {self.pick(block.of('F'))})")
        at = self.pick(["", f", {block.constant('I', 0)}"])
        return block.step("S", f"SequenceInsert ({self.pick(there)}, {new}{at})")

    def element(self, block: Block) -> str:
        """One of a sequence."""
        there = block.of("S") or [self.sequence(block)]
        at = block.constant("I", self.pick([0, -1]))
        return block.step("F", f"SequenceAt ({self.pick(there)}, {at})")

    def joined(self, block: Block) -> str:
        """A sequence as a list, or how long it is."""
        given = self.pick(block.of("S") or [self.sequence(block)])
        if self.chance():
            return block.step("I", f"SequenceLength ({given})")
        return block.step("L", f"ConcatFromSequence <axis = 0, new_axis = 1> ({given})")

    def body(self, block: Block, params: Sequence[tuple[str, str]]) -> tuple[Block, str]:
        """A block inside, and the text of its parameters."""
        inner = Block(block.depth + 1, list(block.visible))
        names = [inner.define(inner.name(kind), kind) for kind, _ in params]
        texts = [f"{type_} {n}" for n, (_, type_) in zip(names, params, strict=True)]
        return inner, ", ".join(texts)

    def result(self, inner: Block, kind: str, banned: set[str]) -> str:
        """A value of the body's own: one that is there, maybe a parameter, or a new one."""
        own = [name for name in inner.own if name[1] == kind and name[0] not in banned]
        if own and self.chance():
            return self.pick(own)[0]
        seen = inner.of(kind)
        if not seen:
            return inner.constant(kind, {"B": 1}.get(kind, 2))
        return inner.step(kind, f"Identity ({self.pick(seen)})")

    def clipped(self, inner: Block, kind: str, banned: set[str]) -> str:
        """A result that loops can carry: clipped, unless it is a parameter."""
        name = self.result(inner, kind, banned)
        params = {n for n, _ in inner.own[: self.params]}
        if kind not in "FIVW" or name in params:
            return name
        scalar = "F" if kind in "FV" else "I"
        low, high = (inner.constant(scalar, value) for value in BOUNDS[scalar])
        return inner.step(kind, f"Clip ({name}, {low}, {high})")

    def carried(self, block: Block, most: int, kinds: str) -> list[tuple[str, str]]:
        """Initial values with their kinds."""
        options = [(n, k) for n, k in block.visible if k in kinds]
        return self.draw(st.lists(st.sampled_from(options), max_size=most)) if options else []

    def emit(self, block: Block, op: str, inner: Block, head: str, results, given) -> None:
        """The step with its body, and what it defines."""
        types = ", ".join(f"{KINDS[kind]} {name}" for kind, name in results)
        names = [block.name(kind) for kind in given]
        inside = "".join(f"\n{'  ' * inner.depth}  {line}" for line in inner.lines)
        outs = ", ".join(names)
        block.lines.append(
            f"{outs} = {op} <{head} => ({types}) {{{inside}\n{'  ' * inner.depth}}}>"
        )
        for name, kind in zip(names, given, strict=True):
            block.define(name, kind)

    def loop(self, block: Block) -> None:
        """A Loop with any form of trip count and condition."""
        trip = self.pick([None, "constant", "value"])
        if trip == "constant":
            trip = block.constant("I", self.pick([0, 1, 2, 5]))
        elif trip == "value":
            bounds = block.constant("I", -1), block.constant("I", 4)
            trip = block.step("I", f"Clip ({self.pick(block.of('I'))}, {', '.join(bounds)})")
        go = self.pick(["", *block.of("B")])
        states = self.carried(block, 3, "FIBVWLES" if self.grows else "FIBVWL")
        params = [("I", "int64"), ("B", "bool"), *((k, KINDS[k]) for _, k in states)]
        inner, text = self.body(block, params)
        (number, _), (condition, _), *_ = inner.own
        self.params = len(inner.own)
        self.fill(inner, 3)
        self.params = len(params)
        banned = {number} if self.careful else set()
        again = self.next_condition(inner, number, condition, trip)
        nexts = [self.clipped(inner, kind, banned) for _, kind in states]
        stacks = self.draw(st.lists(st.sampled_from("FI"), min_size=not states, max_size=2))
        items = [self.result(inner, kind, banned) for kind in stacks]
        kinds = [k for _, k in states]
        results = [("B", again), *zip(kinds + stacks, nexts + items, strict=True)]
        inputs = ", ".join([trip or '""', go or '""', *(name for name, _ in states)])
        self.emit(
            block, f"Loop ({inputs})", inner, f"body = b ({text})", results,
            kinds + [STACKS[kind] for kind in stacks],
        )  # fmt: skip

    def next_condition(self, inner: Block, number: str, condition: str, trip: str | None) -> str:
        """Whether to go on; bounded by the iteration number where no trip count bounds it."""
        form = self.pick(["bounded"] if trip is None else ["same", "bounded", "any"])
        if form == "same":
            return inner.step("B", f"Identity ({condition})")
        if form == "any":
            return self.result(inner, "B", set())
        return inner.step("B", f"Less ({number}, {inner.constant('I', self.pick([0, 1, 3]))})")

    def scan(self, block: Block) -> None:
        """A Scan over one or two tensors of three, or over one list twice."""
        lists = block.of("L") if self.careful else block.of("L") + block.of("E")
        if lists and self.chance():
            sources, kind = [self.pick(lists)] * self.pick([1, 2]), "E"
        else:
            options = [(n, k) for n, k in block.visible if k in "VW"]
            sources = self.draw(st.lists(st.sampled_from(options), min_size=1, max_size=2))
            kind = "V"
        named = [(s, "L") if isinstance(s, str) else s for s in sources]
        items = [{"V": "F", "W": "I", "L": "F"}[k] for _, k in named]
        states = self.carried(block, 2, "FIBVW")
        kinds = [k for _, k in states]
        inner, text = self.body(block, [(k, KINDS[k]) for k in kinds + items])
        self.params = len(inner.own)
        params = {name for name, _ in inner.own}
        self.fill(inner, 3)
        self.params = len(params)
        banned = set(params) if self.careful else set()
        stacks = self.draw(st.lists(st.just("F"), min_size=not states, max_size=2))
        names = []
        for state in kinds:
            names.append(self.clipped(inner, state, banned))
            banned |= {names[-1]} if self.careful else set()
        for stack in stacks:
            names.append(self.result(inner, stack, banned))
            banned |= {names[-1]} if self.careful else set()
        directions = ", ".join(str(int(self.chance())) for _ in items)
        outward = ", ".join(str(int(self.chance())) for _ in stacks)
        head = f"num_scan_inputs = {len(items)}, scan_input_directions = [{directions}], "
        head += f"scan_output_directions = [{outward}], " if stacks else ""
        inputs = ", ".join(name for name, _ in states + named)
        stacked = {"V": "V", "E": "L" if self.careful else "E"}[kind]
        self.emit(
            block, f"Scan ({inputs})", inner, f"{head}body = b ({text})",
            list(zip(kinds + stacks, names, strict=True)), kinds + [stacked] * len(stacks),
        )  # fmt: skip

    def branch(self, block: Block) -> None:
        """An If with one or two results."""
        kinds = self.draw(st.lists(st.sampled_from("FIBVL"), min_size=1, max_size=2))
        texts = []
        for word in ("then", "else"):
            inner, _ = self.body(block, [])
            self.params = 0
            self.fill(inner, 2)
            names = []
            for kind in kinds:
                names.append(self.result(inner, kind, set(names) if self.careful else set()))
            types = ", ".join(f"{KINDS[k]} {n}" for k, n in zip(kinds, names, strict=True))
            pad = "  " * inner.depth
            inside = "".join(f"\n{pad}  {line}" for line in inner.lines)
            texts.append(f"{word}_branch = {word[0]} () => ({types}) {{{inside}\n{pad}}}")
        names = [block.name(kind) for kind in kinds]
        condition = self.pick(block.of("B"))
        block.lines.append(f"{', '.join(names)} = If ({condition}) <{', '.join(texts)}>")
        for name, kind in zip(names, kinds, strict=True):
            block.define(name, kind)


INPUTS = (
    ("x", "F"),
    ("y", "F"),
    ("m", "I"),
    ("n", "I"),
    ("go", "B"),
    ("v", "V"),
    ("w", "W"),
    ("l", "L"),
)


@st.composite
def programs(draw: Callable, *, onnxruntime_is_right: bool = False, grows: bool = False) -> Program:
    """Closed programs with feeds."""
    block = Block(0, list(INPUTS))
    writer = Writer(draw, onnxruntime_is_right, grows)
    writer.fill(block, 4)
    opset = draw(st.sampled_from([13, 18, 21, 24, 26]))
    types = {**KINDS, "L": "float[k]"}
    inputs = ", ".join(f"{types[kind]} {name}" for name, kind in INPUTS)
    declared = {"L": "float[p]", "E": "float[q]", "J": "int64[r]"}
    shown = [
        f"{declared.get(kind, KINDS[kind])}".replace("]", f"{k}]" if kind in declared else "]")
        + f" {name}"
        for k, (name, kind) in enumerate(block.own)
    ]
    body = "".join(f"\n  {line}" for line in block.lines)
    text = (
        f'<ir_version: 10, opset_import: ["" : {opset}]>\n'
        f"g ({inputs}) => ({', '.join(shown)}) {{{body}\n}}"
    )
    return Program(text, draw(feeds()))


@st.composite
def feeds(draw: Callable) -> Mapping[str, np.ndarray]:
    """Small numbers for every input."""
    small = st.integers(-6, 6)
    halves = small.map(lambda n: n / 2)

    def several(numbers, length):
        return draw(st.lists(numbers, min_size=length, max_size=length))

    values = {
        "x": np.float32(draw(halves)),
        "y": np.float32(draw(halves)),
        "m": np.int64(draw(small)),
        "n": np.int64(draw(small)),
        "go": np.bool_(draw(st.booleans())),
        "v": np.float32(several(halves, 3)),
        "w": np.int64(several(small, 3)),
        "l": np.float32(several(halves, draw(st.integers(1, 4)))),
    }
    return {name: np.asarray(value) for name, value in values.items()}
