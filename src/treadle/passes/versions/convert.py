"""Converts a model to another opset of the standard's operators, step by step.

    y = LayerNormalization(x, s, b)   at opset 17  ->  ReduceMean, Sub, Mul, Sqrt ...  at opset 13

A step passes each change of its operator's schema by an adapter of the table, else by the function
that the standard defines it by; the replacing steps are converted further. A change that only
admits more element types needs no adapter; if an older version lacks the step's own type, the
operator runs in a wider one (`lifting.py`).

Declines steps without a form in the opset, reporting all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from treadle import ops
from treadle.infer import IncrementalInference, array_of
from treadle.ir import (
    Block,
    Branch,
    Call,
    Constant,
    Declaration,
    Leaf,
    Loop,
    Operands,
    Step,
    map_bodies,
    operator_of,
    reads,
    step_path,
    version_of,
)
from treadle.limits import poll
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Change
from treadle.passes.versions.clauses import clause
from treadle.passes.versions.control_flow import (
    UNLIKE_BRANCHES_SINCE,
    by_loops,
    has_unlike_branches,
    with_a_state,
)
from treadle.passes.versions.definitions import Definitions
from treadle.passes.versions.legacy import without_legacy_attributes
from treadle.passes.versions.lifting import admits, lifted, type_word
from treadle.passes.versions.no_form import NoForm
from treadle.passes.versions.placing import Placed, bound, placed, versioned
from treadle.passes.versions.reasons import why_not
from treadle.passes.versions.rewriter import Names, Rewriter
from treadle.passes.versions.routes import route
from treadle.passes.versions.splicing import spliced

NAME = "convert_version"
_DEEPEST = 64


@dataclass(slots=True)
class Conversion:
    """One conversion of blocks to an opset: facts, changes, and obstacles.

    `strict`: a step of unknown types is an obstacle too, as in a function that is called with
    several types.
    """

    target: int
    facts: IncrementalInference
    names: Names
    definitions: Definitions
    strict: bool = False
    obstacles: Obstacles = field(default_factory=lambda: Obstacles(NAME))
    done: list[Change] = field(default_factory=list)

    def block(self, block: Block, path: str) -> Block:
        """Convert every step of the block to the target opset."""
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
        """The replacement of a step of the model; the step itself if nothing can replace it."""
        try:
            steps, constants = self._step(step, path, 0)
        except NoForm as reason:
            self.obstacles.add(path, _told(step, reason.why), reason.hint, reason.clause)
            return [step], []
        self._note(step, steps, path)
        return steps, constants

    def _note(self, step: Step, steps: Sequence[Step], path: str) -> None:
        if not isinstance(step, Leaf):
            return
        made = ", ".join(dict.fromkeys(map(operator_of, steps)))
        if made != step.op:
            before = f"{step.op}-{step.version}"
            self.done.append(Change(NAME, path, f"{before} became {made}"))

    def _step(self, step: Step, path: str, depth: int) -> tuple[Sequence[Step], Sequence[Constant]]:
        """The step in the target opset; NoForm has the clause of the innermost step it is about."""
        try:
            return self._converted(step, path, depth)
        except NoForm as reason:
            types = {v: self.facts.fact(v).type for v in (*reads(step), *step.results) if v}
            reason.clause = reason.clause or clause(step, self.target, types)
            raise

    def _converted(
        self, step: Step, path: str, depth: int
    ) -> tuple[Sequence[Step], Sequence[Constant]]:
        if depth > _DEEPEST:
            raise NoForm("its definition leads to itself")
        if not isinstance(step, Leaf) or step.blocks or step.domain != "":
            return self._with_bodies(step, path)
        if step.version != _version(step.op, self.target):
            return self._leaf(step, path, depth)
        # the model's own step is valid; one that an adapter made may have types that are not taken
        return self._with_admitted_types(step, path, depth) if depth else ([step], [])

    def _with_bodies(self, step: Step, path: str) -> tuple[Sequence[Step], Sequence[Constant]]:
        if isinstance(step, Branch) and self.target < UNLIKE_BRANCHES_SINCE:
            chosen = self._chosen(step, path)
            if chosen is not None:
                return chosen
        changed = map_bodies(step, lambda name, b: self.typed_block(b, f"{path}.{name}"))
        if isinstance(step, Call) and not step.version:
            return [changed], []
        version = _version(operator_of(step), self.target)
        if isinstance(step, Leaf) or step.info.domain not in ("", "ai.onnx") or version is None:
            return [changed], []
        values = [v for v in (*reads(step), *step.results) if v is not None]
        problem = admits(operator_of(step), version, [self.facts.fact(v).type for v in values])
        if problem:
            raise NoForm(f"{operator_of(step)}-{version} does not take {problem}")
        if changed.info.version != version:
            changed = replace(changed, info=replace(changed.info, version=version))
        if not isinstance(changed, Loop):
            return [changed], []
        loop, constants = with_a_state(changed, self.names)
        return [loop], constants

    def _chosen(self, step: Branch, path: str) -> tuple[Sequence[Step], Sequence[Constant]] | None:
        """The steps of the branch that is always taken, or loops; None if the If may stay."""
        condition = array_of(self.facts.fact(step.condition))
        if condition is None and not has_unlike_branches(step, self.facts):
            return None
        rewriter = Rewriter(self.facts, self.names, self.target, path, step.info.name or "if")
        if condition is None:
            values: Operands = by_loops(rewriter, step)
        else:
            block = step.then if condition.item() else step.otherwise
            values = spliced(rewriter, block, step.operands)
        return self._again(bound(rewriter, step, values), path, 0, ())

    def typed_block(self, body: Block, path: str) -> Block:
        """The block in the target opset, with declared types of all results."""
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
        """The leaf after every schema change between its version and the target's."""
        wanted = _version(step.op, self.target)
        step = without_legacy_attributes(step)
        constants: list[Constant] = []
        while step.version != wanted:
            found = self._adapted(step, wanted, path)
            if isinstance(found, Rewriter):
                return self._again(found, path, depth, constants)
            step, made = found
            constants += made
        self._expect_types(step)
        steps, more = self._with_admitted_types(step, path, depth)
        return steps, [*constants, *more]

    def _with_admitted_types(
        self, step: Leaf, path: str, depth: int
    ) -> tuple[Sequence[Step], Sequence[Constant]]:
        """The step, or steps of wider types where its version does not take the types it has."""
        rewriter = self._rewriter(step, self.target, path)
        return self._again(rewriter, path, depth, ()) if lifted(rewriter, step) else ([step], [])

    def _expect_types(self, step: Leaf) -> None:
        values = [value for value in step.operands if value is not None]
        if self.strict and not all(type_word(self.facts.fact(v).type) for v in values):
            raise NoForm("the function is called with several types", "inline it")

    def _again(
        self, rewriter: Rewriter, path: str, depth: int, before: Sequence[Constant]
    ) -> tuple[Sequence[Step], Sequence[Constant]]:
        """Convert the steps made by a rewriter to the target in turn."""
        steps: list[Step] = []
        constants = [*before, *rewriter.constants]
        for each in rewriter.steps:
            made, more = self._step(each, each.info.path or path, depth + 1)
            steps += made
            constants += more
        return steps, constants

    def _adapted(self, step: Leaf, wanted: int | None, path: str) -> Placed:
        """The step after one more adapter, or the steps that replace it."""
        way = route(step.op, step.version, wanted)
        rewriter = self._rewriter(step, way.opset, path)
        if way.adapter is not None:
            try:
                return placed(rewriter, step, way.adapter(rewriter, step), way.reached)
            except NoForm:
                expanded = None if way.is_up else self._defined(step, path)
                if expanded is None:
                    raise
                return expanded
        if way.reached is not None and (way.is_up or not self._is_refused(step, way.reached)):
            return versioned(step, way.reached), ()
        expanded = self._defined(step, path)
        if expanded is None and way.reached is None:
            raise NoForm(f"opset {self.target} has none: {why_not(step.op, step.version)}")
        # without a definition another element type may help
        return expanded or (versioned(step, way.reached or 0), ())

    def _defined(self, step: Leaf, path: str) -> Rewriter | None:
        return self.definitions.into(self._rewriter(step, step.version, path), step)

    def _is_refused(self, step: Leaf, version: int) -> bool:
        schema = ops.schema("", step.op, version)
        assert schema is not None
        fits = (
            schema.min_inputs <= len(step.operands) <= schema.max_inputs
            and schema.min_outputs <= len(step.results) <= schema.max_outputs
            and step.attributes.keys() <= schema.attributes.keys()
        )
        types = [self.facts.fact(value).type for value in step.operands]
        return not fits or bool(admits(step.op, version, types))

    def _rewriter(self, step: Leaf, opset: int, path: str) -> Rewriter:
        named = next((v.name for v in step.results if v is not None), step.op.lower())
        return Rewriter(self.facts, self.names, opset, path, step.info.name or named)


def _version(op: str, opset: int) -> int | None:
    return ops.since_version("", op, opset)


def _told(step: Step, why: str) -> str:
    return f"{operator_of(step)}-{version_of(step)}: {why}"
