"""Makes a plan ready to run: every region becomes actions over slots."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from treadle import ops
from treadle.errors import RunError, Unsupported
from treadle.interp.block import BlockProgram, Part, SlotsOf, program
from treadle.interp.branch import compile_branch
from treadle.interp.call import Expand, compile_call
from treadle.interp.frame import Action, Frame, Slots
from treadle.interp.leaf import compile_leaf
from treadle.interp.loop import compile_loop
from treadle.ir import Block, Branch, Call, Leaf, Loop, Step, reads, step_path
from treadle.plan import BlockPlan, Plan, Refused, Region, RunContext, interp_only


@dataclass(frozen=True, eq=False, slots=True)
class Interpreter:
    """A plan ready to run, by several threads at once; a `plan.Runnable`."""

    main: BlockProgram

    def __call__(self, inputs: Sequence[object], context: RunContext) -> list[object]:
        """One value per parameter of the main block in, one per result out."""
        try:
            with ops.silence():
                return self.main(inputs, Frame(context))
        except MemoryError as error:
            raise RunError("out of memory; bound the run with max_bytes") from error
        except RecursionError as error:
            raise RunError("bodies are nested too deep for Python's stack") from error


def prepare(plan: Plan | BlockPlan, expand: Expand | None = None) -> Interpreter:
    """The plan ready to run.

    `expand` gives the body of a step that has no kernel, for operands of given types. Raises
    Unsupported for a step that nothing can run.
    """
    main = plan.main if isinstance(plan, Plan) else plan
    return Interpreter(program(main, _Compiler(expand).region))


@dataclass(frozen=True, slots=True)
class _Compiler:
    expand: Expand | None

    def region(self, region: Region, path: str, slots: SlotsOf) -> Iterator[Part]:
        """The actions of a region: one for a stretch of another engine, else one a step."""
        if region.runnable is not None:
            yield (
                self._foreign(region, slots),
                region.path,
                region.inputs,
                region.outputs,
            )
            return
        positions = {id(step): k for k, step in enumerate(region.steps)}
        for step in region.steps:
            here = step_path(path, step, positions[id(step)])
            yield self._step(step, here, slots, region), here, reads(step), step.results

    def _step(self, step: Step, path: str, slots: SlotsOf, region: Region) -> Action:
        match step:
            case Loop():
                body = program(region.bodies["body"], self.region)
                return compile_loop(step, path, slots, body)
            case Branch():
                then = program(region.bodies["then_branch"], self.region)
                otherwise = program(region.bodies["else_branch"], self.region)
                return compile_branch(step, path, slots, then, otherwise)
            case Leaf():
                return self._leaf(step, path, slots)
            case Call():
                return self._call(step, path, slots)

    def _leaf(self, step: Leaf, path: str, slots: SlotsOf) -> Action:
        try:
            return compile_leaf(step, path, slots)
        except Unsupported:
            schema = ops.schema(step.domain, step.op, step.version)
            if self.expand is None or schema is None or not schema.is_function:
                raise
            return self._call(step, path, slots)

    def _call(self, step: Leaf | Call, path: str, slots: SlotsOf) -> Action:
        assert self.expand is not None, f"{path} must be expanded, and nobody says how"
        return compile_call(step, path, slots, self.expand, self._program)

    def _program(self, block: Block, path: str) -> BlockProgram:
        return program(interp_only(block, path), self.region)

    def _foreign(self, region: Region, slots: SlotsOf) -> Action:
        runnable = region.runnable
        assert runnable is not None
        inputs, outputs = slots.all(region.inputs), slots.all(region.outputs)
        instead = _Once(lambda: self._otherwise(region))

        def act(values: Slots, frame: Frame) -> None:
            given = [values[slot] for slot in inputs]
            try:
                made = runnable(given, frame.context)
            except Refused as refusal:
                made = _instead(instead, refusal)(given, frame)
            for slot, value in zip(outputs, made, strict=True):
                values[slot] = value

        return act

    def _otherwise(self, region: Region) -> BlockProgram:
        assert region.otherwise is not None, f"{region.path} has no plan for when it is refused"
        return program(region.otherwise(), self.region)


class _Once:
    """A program made when it is first wanted; threads may want it at once."""

    def __init__(self, make: Callable[[], BlockProgram]) -> None:
        self._make = make
        self._made: BlockProgram | None = None
        self._lock = threading.Lock()

    def __call__(self) -> BlockProgram:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def _instead(program_: Callable[[], BlockProgram], refusal: Refused) -> BlockProgram:
    try:
        return program_()
    except Unsupported as unsupported:
        raise refusal.error from unsupported
