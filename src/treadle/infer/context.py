"""The state of one inference: facts, loops in progress, and cached calls.

The rules for steps are in files of their own; they infer bodies through `Inference.block`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.infer.facts import UNKNOWN, Fact
from treadle.ir import Attribute, Block, FunctionId, Model, Type, Value


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two facts that contradict each other: the operands of a step do not fit its operator.

    `doubtful`: the step is in a branch that may never be taken, or in a body that may never run.
    """

    path: str
    message: str
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope that inference works in: a path, attributes of the function, and what is certain.

    `path` includes the calls, so it is unique; `shown` is the path in the file. `repeats`: inside a
    loop, where a declared shape may be that of the first iteration only. `believes`: a declaration
    is used where inference knows nothing.
    """

    path: str
    shown: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    functions: tuple[FunctionId, ...] = ()
    repeats: bool = False
    doubtful: bool = False
    believes: bool = True

    def at(self, path: str, shown: str) -> Scope:
        """The scope of a step of the block in this scope."""
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
        """The scope of a body of the step in this scope."""
        return replace(
            self,
            path=f"{self.path}.{name}",
            shown=f"{self.shown}.{name}",
            repeats=self.repeats or repeats,
            doubtful=self.doubtful or doubtful,
        )


@dataclass(slots=True)
class LoopState:
    """The state of the widening of one loop's carried values.

    `stays`: the body's condition is true in every iteration.
    """

    carried: list[Fact]
    stays: bool = True
    passes: int = 0


@dataclass(eq=False, slots=True)
class CallRecord:
    """One inferred call of a function: argument facts, results, types inside and nested calls.

    `inner` holds the last call made at each call site of the function.
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

    def block(self, block: Block, params: Sequence[Fact], scope: Scope) -> list[Fact]:
        """Infer the facts of the block's results for these facts of its params.

        The result is cached: a repeated question for the same body with the same params, in the
        same call of a function, is answered from the cache.
        """
        asked = (tuple(params), scope.doubtful, self.caller)
        last = self.bodies.get(scope.path)
        if last is None or last[0] != asked:
            last = asked, self.rule(self, block, params, scope)
            self.bodies[scope.path] = last
        return last[1]

    def of(self, value: Value | None) -> Fact:
        """The fact of a value; an empty fact for an absent one."""
        return self.facts.get(value, UNKNOWN) if value is not None else UNKNOWN

    def types(self, values: Sequence[Value | None]) -> list[Type | None]:
        """The types of values."""
        return [self.of(value).type for value in values]
