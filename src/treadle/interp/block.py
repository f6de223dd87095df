"""Prepares blocks and steps for execution; each kind of step has its own file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from treadle.interp.branch import prepare_branch
from treadle.interp.call import prepare_call
from treadle.interp.executable import Define, Executable
from treadle.interp.instructions import Instruction, in_order
from treadle.interp.leaf import prepare_leaf
from treadle.interp.loop import prepare_loop
from treadle.ir import Block, Branch, Call, Leaf, Loop, Step, bodies, reads, step_path


def prepare_block(block: Block, path: str, define: Define | None = None) -> Executable:
    """Prepare the block: it maps one value per param to one value per result.

    `define` returns the block by which the standard defines an operator. Raises Unsupported for an
    operator that has neither a kernel nor such a definition.
    """

    def instruction(step: Step, number: int) -> Instruction:
        own = step_path(path, step, number)
        blocks = dict(bodies(step))
        return prepare_step(
            step, own, lambda name: prepare_block(blocks[name], f"{own}.{name}", define), define
        )

    return in_order(block, path, [instruction(s, k) for k, s in enumerate(block.steps)])


def prepare_step(
    step: Step, path: str, body: Callable[[str], Executable], define: Define | None
) -> Instruction:
    """Prepare the step, bodies included; `body` prepares the body of a name."""
    makers = (path,) * len(step.results)
    return Instruction(path, _action(step, path, body, define), reads(step), step.results, makers)


def _action(
    step: Step, path: str, body: Callable[[str], Executable], define: Define | None
) -> Executable:
    prepare = partial(prepare_block, define=define)
    match step:
        case Loop():
            return prepare_loop(step, path, body("body"))
        case Branch():
            return prepare_branch(path, body("then_branch"), body("else_branch"))
        case Call():
            return prepare_call(step, path, define, prepare)
        case Leaf():
            return prepare_leaf(step, path) or prepare_call(step, path, define, prepare)
