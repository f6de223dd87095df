"""Brings a model to another opset of the standard's operators, step by step.

    y = LayerNormalization(x, s, b)   at opset 17  ->  ReduceMean, Sub, Mul, Sqrt ...  at opset 13

A step goes over one change of its operator's schema after the other, by the adapters of the table,
else by the function the standard defines it by. What takes its place goes on from there. A change
that only admits more element types needs no adapter; where an older version lacks the step's own
type, the operator runs in a wider one (`lifting.py`).

Declines, with everything that stands in the way at once, what has no form in the opset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from treadle import ops
from treadle.infer import IncrementalInference
from treadle.ir import (
    Block,
    Branch,
    Call,
    Constant,
    Declaration,
    Leaf,
    Loop,
    Operands,
    Reference,
    Step,
    Value,
    bodies,
    map_bodies,
    reads,
    step_path,
    with_operands,
    with_results,
)
from treadle.limits import poll
from treadle.passes.bind_attributes import bind_attributes
from treadle.passes.expand_functions import Expand
from treadle.passes.report import Change
from treadle.passes.rewrites import Obstacles
from treadle.passes.versions.control_flow import with_a_state
from treadle.passes.versions.lifting import admits, lifted, type_word
from treadle.passes.versions.reasons import NO_FORM
from treadle.passes.versions.rewriter import Names, Rewriter
from treadle.passes.versions.splicing import spliced
from treadle.passes.versions.table import DOWN, UP, Adapted, NoForm

NAME = "convert_version"
_DEEPEST = 64


@dataclass(slots=True)
class Conversion:
    """One conversion of blocks to an opset: what is known, what was done, what stands in the way.

    `strict`: a step whose types are not known is one too, as in a function that is called with
    several.
    """

    target: int
    facts: IncrementalInference
    names: Names
    expand: Expand
    strict: bool = False
    obstacles: Obstacles = field(default_factory=lambda: Obstacles(NAME))
    done: list[Change] = field(default_factory=list)

    def block(self, block: Block, path: str) -> Block:
        """The block with every step in the target opset."""
        steps: list[Step] = []
        constants = list(block.constants)
        for position, step in enumerate(block.steps):
            poll()
            here = step_path(path, step, position)
            if self._is_current(step):
                steps.append(step)
                continue
            made = self._origin(step, here)
            steps += made[0]
            constants += made[1]
        same = len(steps) == len(block.steps)
        if same and all(new is old for new, old in zip(steps, block.steps, strict=True)):
            return block
        return replace(block, steps=tuple(steps), constants=tuple(constants))

    def _is_current(self, step: Step) -> bool:
        if not isinstance(step, Leaf) or step.blocks:
            return False
        return step.domain != "" or step.version == _version(step.op, self.target)

    def _origin(self, step: Step, path: str) -> tuple[Sequence[Step], Sequence[Constant]]:
        """What takes the place of a step of the model; the step itself where nothing can."""
        try:
            steps, constants = self._step(step, path, 0)
        except NoForm as reason:
            self.obstacles.add(path, _told(step, reason.why), reason.hint)
            return [step], []
        self._note(step, steps, path)
        return steps, constants

    def _note(self, step: Step, steps: Sequence[Step], path: str) -> None:
        if not isinstance(step, Leaf):
            return
        made = ", ".join(dict.fromkeys(map(_shown, steps)))
        if made != step.op:
            before = f"{step.op}-{step.version}"
            self.done.append(Change(NAME, path, f"{before} became {made}"))

    def _step(self, step: Step, path: str, depth: int) -> tuple[Sequence[Step], Sequence[Constant]]:
        if depth > _DEEPEST:
            raise NoForm("its definition leads to itself")
        if not isinstance(step, Leaf) or step.blocks or step.domain != "":
            return self._with_bodies(step, path)
        if step.version == _version(step.op, self.target):
            return [step], []
        return self._leaf(step, path, depth)

    def _with_bodies(self, step: Step, path: str) -> tuple[Sequence[Step], Sequence[Constant]]:
        changed = map_bodies(step, lambda name, b: self.typed_block(b, f"{path}.{name}"))
        if isinstance(step, Call) and not step.version:
            return [changed], []
        version = _version(_operator(step), self.target)
        if isinstance(step, Leaf) or step.info.domain not in ("", "ai.onnx") or version is None:
            return [changed], []
        values = [v for v in (*reads(step), *step.results) if v is not None]
        problem = admits("", _operator(step), version, [self.facts.fact(v).type for v in values])
        if problem:
            raise NoForm(f"{_operator(step)}-{version} does not take {problem}")
        if changed.info.version != version:
            changed = replace(changed, info=replace(changed.info, version=version))
        if not isinstance(changed, Loop):
            return [changed], []
        loop, constants = with_a_state(changed, self.names)
        return [loop], constants

    def typed_block(self, body: Block, path: str) -> Block:
        """The block in the target opset, every result of which says its type."""
        made = self.block(body, path)
        claims = body.claims or tuple(Declaration(v.declared if v else None) for v in body.results)
        if all(claim.type is not None for claim in claims):
            return made
        told = tuple(
            claim if claim.type is not None else replace(claim, type=self.facts.fact(value).type)
            for claim, value in zip(claims, body.results, strict=True)
        )
        return replace(made, claims=told)

    def _leaf(self, step: Leaf, path: str, depth: int) -> tuple[Sequence[Step], Sequence[Constant]]:
        """The leaf over every change between its version and the target's."""
        wanted = _version(step.op, self.target)
        constants: list[Constant] = []
        while step.version != wanted:
            found = self._adapted(step, wanted, path)
            if isinstance(found, Rewriter):
                steps, more = self._again(found, path, depth)
                return steps, [*constants, *more]
            step, made = found
            constants += made
        self._expect_types(step)
        rewriter = self._rewriter(step, self.target, path)
        if not lifted(rewriter, step):
            return [step], constants
        steps, more = self._again(rewriter, path, depth)
        return steps, [*constants, *more]

    def _expect_types(self, step: Leaf) -> None:
        values = [value for value in step.operands if value is not None]
        if self.strict and not all(type_word(self.facts.fact(v).type) for v in values):
            raise NoForm("the function is called with several types", "inline it")

    def _again(
        self, rewriter: Rewriter, path: str, depth: int
    ) -> tuple[Sequence[Step], Sequence[Constant]]:
        """The steps a rewriter made, each brought to the target in its turn."""
        steps: list[Step] = []
        constants = list(rewriter.constants)
        for each in rewriter.steps:
            made, more = self._step(each, each.info.path or path, depth + 1)
            steps += made
            constants += more
        return steps, constants

    def _adapted(
        self, step: Leaf, wanted: int | None, path: str
    ) -> Rewriter | tuple[Leaf, Sequence[Constant]]:
        """The step one change further, or the steps that take its place."""
        versions = ops.known_operators("")[step.op]
        downwards = wanted is None or wanted < step.version
        if downwards:
            reached = max((v for v in versions if v < step.version), default=None)
            adapter = DOWN.get((step.op, step.version))
            opset = step.version - 1
        else:
            reached = min(v for v in versions if v > step.version)
            adapter = UP.get((step.op, reached))
            opset = reached
        rewriter = self._rewriter(step, opset, path)
        if adapter is not None:
            try:
                return _placed(rewriter, step, adapter(rewriter, step), reached)
            except NoForm:
                if not downwards:
                    raise
                return self._expanded(step, path) or _reraised()
        if reached is not None and not (downwards and self._is_refused(step, reached)):
            return _placed(rewriter, step, step, reached)
        expanded = self._expanded(step, path)
        if expanded is None and reached is not None:
            return _placed(rewriter, step, step, reached)  # another element type may do
        if expanded is None:
            why = NO_FORM.get((step.op, step.version)) or NO_FORM.get((step.op, versions[0]))
            raise NoForm(f"opset {self.target} has none: {why or 'nothing older makes it up'}")
        return expanded

    def _is_refused(self, step: Leaf, version: int) -> bool:
        schema = ops.schema("", step.op, version)
        assert schema is not None
        fits = (
            schema.min_inputs <= len(step.operands) <= schema.max_inputs
            and schema.min_outputs <= len(step.results) <= schema.max_outputs
            and step.attributes.keys() <= schema.attributes.keys()
        )
        types = [self.facts.fact(value).type for value in step.operands]
        return not fits or bool(admits("", step.op, version, types))

    def _rewriter(self, step: Leaf, opset: int, path: str) -> Rewriter:
        named = next((v.name for v in step.results if v is not None), step.op.lower())
        return Rewriter(self.facts, self.names, opset, path, step.info.name or named)

    def _expanded(self, step: Leaf, path: str) -> Rewriter | None:
        """The steps of the function the standard defines the step's operator by, if it does."""
        if any(isinstance(each.value, Reference) for each in step.attributes.values()):
            return None
        types = [self.facts.fact(value).type for value in step.operands]
        if any(t is None and v is not None for t, v in zip(types, step.operands, strict=True)):
            return None
        function = self.expand(step, types)
        if function is None:
            return None
        rewriter = self._rewriter(step, function.opsets.get("", step.version), path)
        block = bind_attributes(function, step.attributes)
        made = spliced(rewriter, block, step.operands)
        if any(each.op == step.op for each in _leaves(rewriter.steps)):
            return None
        return _bound(rewriter, step, made)


def _version(op: str, opset: int) -> int | None:
    return ops.since_version("", op, opset)


def _operator(step: Step) -> str:
    match step:
        case Leaf():
            return step.op
        case Call():
            return step.function.name
        case Loop() | Branch():
            return step.info.op or ("Loop" if isinstance(step, Loop) else "If")


def _told(step: Step, why: str) -> str:
    version = step.version if isinstance(step, Leaf | Call) else step.info.version
    return f"{_operator(step)}-{version}: {why}"


def _shown(step: Step) -> str:
    return _operator(step)


def _leaves(steps: Sequence[Step]) -> list[Leaf]:
    found = [step for step in steps if isinstance(step, Leaf)]
    for step in steps:
        for _, body in bodies(step):
            found += _leaves(body.steps)
    return found


def _reraised() -> Rewriter:
    raise


def _placed(
    rewriter: Rewriter, step: Leaf, made: Adapted, reached: int | None
) -> Rewriter | tuple[Leaf, Sequence[Constant]]:
    """What an adapter gave, in the place of the step."""
    if not isinstance(made, Leaf):
        values = (made,) if isinstance(made, Value) else tuple(made)
        return _bound(rewriter, step, values)
    assert reached is not None, f"no version of {step.op} is left"
    leaf = replace(made, version=reached, info=replace(made.info, version=reached))
    if not rewriter.steps:
        return leaf, rewriter.constants
    rewriter.add(leaf)
    return rewriter


def _bound(rewriter: Rewriter, step: Leaf, values: Operands) -> Rewriter:
    """The rewriter whose last steps make the results of the step."""
    made = {value for each in rewriter.steps for value in each.results}
    by: dict[Value, Value | None] = {}
    for position, result in enumerate(step.results):
        if result is None:
            continue
        value = values[position] if position < len(values) else None
        if value is None:
            raise NoForm(f'its result "{result.name}" has no form in opset {rewriter.opset}')
        if value in by or value not in made:
            value = rewriter.op("Identity", value)
        by[value] = result
    rewriter.steps = [with_operands(with_results(each, by), by) for each in rewriter.steps]
    return rewriter
