"""What one inference carries along: facts found, loops half way, calls already answered.

The rules of steps live in files of their own; `Inference.block` lets them infer their bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.infer.facts import UNKNOWN, Fact
from treadle.ir import Attribute, Block, FunctionId, Model, Type, Value


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two facts that contradict: a step whose operands do not fit it.

    `doubtful`: in a branch that may never be taken, or a body that never runs.
    """

    path: str
    message: str
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """Where inference is: a path, the attributes of the function it is in, what is certain here.

    `path` goes through calls, so that no two places share one; `shown` is where the file has it.
    `repeats`: in a loop, where a declared shape may be that of the first iteration only.
    `believes`: a declaration counts where nothing else is known.
    """

    path: str
    shown: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    functions: tuple[FunctionId, ...] = ()
    repeats: bool = False
    doubtful: bool = False
    believes: bool = True

    def at(self, path: str, shown: str) -> Scope:
        """The place of a step of the block that is here."""
        return Scope(
            path,
            shown,
            self.attributes,
            self.functions,
            self.repeats,
            self.doubtful,
            self.believes,
        )

    def body(self, name: str, *, repeats: bool = False, doubtful: bool = False) -> Scope:
        """The place of a body of the step that is here."""
        return replace(
            self,
            path=f"{self.path}.{name}",
            shown=f"{self.shown}.{name}",
            repeats=self.repeats or repeats,
            doubtful=self.doubtful or doubtful,
        )


@dataclass(slots=True)
class LoopState:
    """How far the carried values of one loop are widened, in how many passes.

    `stays`: the body sees its condition true in every iteration.
    """

    carried: list[Fact]
    stays: bool = True
    passes: int = 0


@dataclass(eq=False, slots=True)
class CallRecord:
    """One call of a function with certain facts: what it gives, the types inside, its own calls.

    `inner` has, for each place in the function that calls another, which call was made last.
    """

    function: FunctionId
    results: list[Fact] = field(default_factory=list)
    types: dict[Value, Type | None] = field(default_factory=dict)
    inner: dict[str, object] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Inference:
    """The state of one inference; the rules write to it."""

    model: Model
    rule: Callable[[Inference, Block, Sequence[Fact], Scope], list[Fact]]
    facts: dict[Value, Fact] = field(default_factory=dict)
    conflicts: dict[str, Conflict] = field(default_factory=dict)
    loops: dict[str, LoopState] = field(default_factory=dict)
    leaves: dict[object, Sequence[Type | None] | str] = field(default_factory=dict)
    folded: dict[object, Fact | None] = field(default_factory=dict)
    calls: dict[object, CallRecord] = field(default_factory=dict)
    root: CallRecord = field(default_factory=lambda: CallRecord(FunctionId("", "main")))
    caller: CallRecord = field(init=False)
    bodies: dict[str, tuple[object, list[Fact]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.caller = self.root

    def block(self, block: Block, params: Sequence[Fact], place: Scope) -> list[Fact]:
        """The facts of the block's results, its params being as given.

        Asked again for a body with the same params as the last time, in the same call of a
        function, it answers from memory.
        """
        asked = (tuple(params), place.doubtful, self.caller)
        last = self.bodies.get(place.path)
        if last is None or last[0] != asked:
            last = asked, self.rule(self, block, params, place)
            self.bodies[place.path] = last
        return last[1]

    def of(self, value: Value | None) -> Fact:
        """What is known of a value; nothing of an absent one."""
        return self.facts.get(value, UNKNOWN) if value is not None else UNKNOWN

    def types(self, values: Sequence[Value | None]) -> list[Type | None]:
        """The types of values."""
        return [self.of(value).type for value in values]
