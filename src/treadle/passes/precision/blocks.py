"""Converts one block and its bodies to another element type, step by step.

A value of the old element type is computed in the old or the new type; the other form is made by a
Cast, once and only if a step reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle import ops
from treadle.infer import IncrementalInference
from treadle.ir import (
    Block,
    Branch,
    Carried,
    Condition,
    Constant,
    DType,
    Info,
    Iteration,
    Leaf,
    Literal,
    Loop,
    Operands,
    Step,
    Tensor,
    Type,
    Value,
    attribute,
    reads,
    step_path,
    with_operands,
    with_results,
)
from treadle.passes.obstacles import Obstacles
from treadle.passes.precision.types import attributes, changed, constant, has
from treadle.passes.report import Change
from treadle.passes.versions import Names, type_word

NAME = "convert_dtype"


@dataclass(slots=True)
class Precision:
    """One conversion: both element types, the inferred types, and the exceptions.

    `kept` are values, `kept_paths` loops and branches that stay unchanged.
    """

    old: DType
    new: DType
    opset: int
    before: IncrementalInference
    after: IncrementalInference
    names: Names
    kept: frozenset[Value]
    kept_paths: frozenset[str]
    obstacles: Obstacles = field(default_factory=lambda: Obstacles(NAME))
    done: list[Change] = field(default_factory=list)

    def is_float(self, value: Value | None) -> bool:
        """Whether a value of the model has the old element type."""
        return value is not None and has(self.before.fact(value).type, self.old)

    def is_kept(self, value: Value | None) -> bool:
        """Whether a value of the model keeps its element type."""
        return value is not None and value in self.kept

    def type_of(self, value: Value, *, kept: bool) -> Type | None:
        """The declared type of one form of a value."""
        return value.declared if kept else changed(value.declared, self.old, self.new)


@dataclass(slots=True)
class Writing:
    """A block under conversion: the existing forms of its values, and its steps."""

    run: Precision
    path: str
    wide: dict[Value, Value | None] = field(default_factory=dict)
    narrow: dict[Value, Value | None] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)

    def start(self, value: Value, *, kept: bool) -> Value:
        """Register the initial form of a param or result of the model."""
        run = self.run
        if not run.is_float(value):
            self.wide[value] = value
            return value
        new = Value(value.name, run.type_of(value, kept=kept), doc=value.doc)
        (self.wide if kept else self.narrow)[value] = new
        return new

    def form(self, value: Value | None, *, wide: bool) -> Value | None:
        """The value in the old or the new element type."""
        if value is None or not self.run.is_float(value):
            return value if value is None else self.wide[value]
        forms, others = (self.wide, self.narrow) if wide else (self.narrow, self.wide)
        if value not in forms:
            other = others[value]
            assert other is not None, "a form is a value"
            forms[value] = self._cast(value, other, self.run.old if wide else self.run.new)
        return forms[value]

    def forms(self, values: Operands, *, wide: bool) -> Operands:
        """Each value in the old or the new element type."""
        return tuple(self.form(value, wide=wide) for value in values)

    def _cast(self, value: Value, other: Value, dtype: DType) -> Value:
        if not isinstance(self.run.before.fact(value).type, Tensor):
            word = type_word(self.run.before.fact(value).type)
            self.run.obstacles.add(self.path, f'"{value.name}" is {word}, which no Cast converts')
            return other
        made = Value(self.run.names.fresh(f"{value.name}/{dtype}"))
        version = ops.since_version("", "Cast", self.run.opset) or 1
        to = {"to": attribute("to", ops.element_to_proto(dtype))}
        info = Info(op="Cast", version=version)
        self.add(Leaf("", "Cast", version, (other,), (made,), to, info=info))
        return made

    def add(self, step: Step) -> None:
        """Append a finished step, and register its results."""
        self.steps.append(step)
        self.run.after.add(step, f"{self.path}/{len(self.steps)}")

    def constant(self, old: Constant) -> None:
        """A constant of the model."""
        value = old.value
        if not self.run.is_float(value) or self.run.is_kept(value):
            self.constants.append(old)
            self.wide[value] = value
        else:
            new = Value(value.name, self.run.type_of(value, kept=False))
            self.constants.append(Constant(new, constant(old, self.run.new)))
            self.narrow[value] = new
        made = self.constants[-1]
        if isinstance(made.data, Literal):
            self.run.after.constant(made.value, made.data)

    def step(self, step: Step, path: str) -> None:
        """One step of the model."""
        match step:
            case _ if path in self.run.kept_paths:
                self._unchanged(step)
            case Leaf() if not step.blocks and not any(map(self.run.is_kept, step.results)):
                self._leaf(step)
            case Branch():
                self._branch(step, path)
            case Loop():
                self._loop(step, path)
            case _:
                self._unchanged(step)

    def _unchanged(self, step: Step) -> None:
        """Copy the step unchanged, on values of the old element type."""
        given = {value: self.form(value, wide=True) for value in reads(step) if value is not None}
        self._finish(with_operands(step, given), step)

    def _finish(self, made: Step, step: Step) -> None:
        """Append a step that replaces one of the model; its values get its result types."""
        results: dict[Value, Value | None] = {}
        for value in step.results:
            if value is not None:
                results[value] = Value(value.name, doc=value.doc)
        made = with_results(made, results)
        self.add(made)
        for value, result in results.items():
            type_ = self.run.after.fact(result).type
            is_narrow = self.run.is_float(value) and has(type_, self.run.new)
            (self.narrow if is_narrow else self.wide)[value] = result

    def _leaf(self, step: Leaf) -> None:
        run = self.run
        schema = ops.schema(step.domain, step.op, step.version)
        fits = [] if schema is None else [self._fits(schema, k) for k in range(len(step.operands))]
        floats = [
            fit for fit, value in zip(fits, step.operands, strict=False) if run.is_float(value)
        ]
        if schema is None or not (any(floats) if floats else self._gives(schema, step)):
            self._unchanged(step)
            return
        pairs = zip(step.operands, fits, strict=True)
        operands = tuple(self.form(value, wide=not fit) for value, fit in pairs)
        told = attributes(step, run.old, run.new)
        self._finish(replace(step, operands=operands, attributes=told), step)

    def _fits(self, schema: ops.Schema, index: int) -> bool:
        """Whether an operand may have the new element type."""
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        return any(f"tensor({ops.element_word(self.run.new)})" in each for each in formal.types)

    def _gives(self, schema: ops.Schema, step: Leaf) -> bool:
        """Whether an operator without float operands could return the new type, not the old."""
        word = f"tensor({ops.element_word(self.run.new)})"
        admits = any(word in each for formal in schema.outputs for each in formal.types)
        return admits and any(self.run.is_float(value) for value in step.results)

    def _branch(self, step: Branch, path: str) -> None:
        run = self.run
        params = [
            run.is_kept(a) or run.is_kept(b)
            for a, b in zip(step.then.params, step.otherwise.params, strict=True)
        ]
        triples = zip(step.results, step.then.results, step.otherwise.results, strict=True)
        results = [any(map(run.is_kept, each)) for each in triples]
        given = [self.form(v, wide=k) for v, k in zip(step.operands, params, strict=True)]
        made = replace(
            step,
            condition=self.form(step.condition, wide=True) or step.condition,
            operands=tuple(given),
            then=written(run, step.then, params, results, f"{path}.then_branch"),
            otherwise=written(run, step.otherwise, params, results, f"{path}.else_branch"),
        )
        self._finish(made, step)

    def _loop(self, step: Loop, path: str) -> None:
        run = self.run
        carried = iter(zip(step.body.results[1:], step.results, strict=True))
        params, given, operands = list[bool](), list[Value | None](), iter(step.operands)
        states = list[bool]()
        for role, param in zip(step.roles, step.body.params, strict=True):
            kept = run.is_kept(param)
            if isinstance(role, Carried):
                kept = any(map(run.is_kept, (param, *next(carried))))
                states.append(kept)
            params.append(kept)
            if not isinstance(role, Iteration | Condition):
                given.append(self.form(next(operands), wide=kept))
        stacked = [any(map(run.is_kept, each)) for each in carried]
        body = written(run, step.body, params, [False, *states, *stacked], f"{path}.body")
        trip, condition = self.forms((step.trip, step.condition), wide=True)
        made = replace(step, trip=trip, condition=condition, operands=tuple(given), body=body)
        self._finish(made, step)


def written(
    run: Precision, block: Block, params: Sequence[bool], results: Sequence[bool], path: str
) -> Block:
    """Convert a body; some params and results keep the old element type."""
    writing = Writing(run, path)
    made = tuple(
        writing.start(param, kept=kept) for param, kept in zip(block.params, params, strict=True)
    )
    for param, value in zip(block.params, made, strict=True):
        type_ = run.before.fact(param).type
        run.after.know(
            value, type_ if value in writing.wide.values() else changed(type_, run.old, run.new)
        )
    fill(writing, block)
    given = tuple(
        writing.form(value, wide=kept) for value, kept in zip(block.results, results, strict=True)
    )
    claims = tuple(
        claim if kept else replace(claim, type=changed(claim.type, run.old, run.new), kept=b"")
        for claim, kept in zip(block.claims, results, strict=False)
    )
    return replace(
        block,
        params=made,
        constants=tuple(writing.constants),
        steps=tuple(writing.steps),
        results=given,
        claims=claims,
        kept=still_true(writing, block),
    )


def still_true(writing: Writing, block: Block) -> Mapping[str, bytes]:
    """The block's unknown fields that stay valid; others may hold types of converted constants."""
    same = set(writing.constants) == set(block.constants)
    return block.kept if same else {}


def fill(writing: Writing, block: Block) -> None:
    """Write the constants and steps of a block."""
    defaults = set(block.params)
    for each in block.constants:
        if each.value not in defaults:
            writing.constant(each)
    for position, step in enumerate(block.steps):
        writing.step(step, step_path(writing.path, step, position))
