"""Runs a rewrite over the open form of a model's main block, with preparation and cleanup.

Functions that contain a step to rewrite are inlined, and every step gets its path; afterwards names
are made unique, bodies closed and declarations written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from treadle.ir import Block, Model, Step, map_bodies, walk_block
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Change, Report
from treadle.passes.rewrites.finished import finished, without_functions
from treadle.passes.rewrites.paths import chosen, mark, marked_path
from treadle.passes.simplify.captures import closure_convert, to_implicit_captures
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.names import with_output_names, with_own_names

Wanted = Callable[[Step], bool]


@dataclass(slots=True)
class Walk:
    """The state of a rewrite during its walk: facts, selected paths, and obstacles."""

    at: PassContext
    paths: Collection[str]
    told: Obstacles
    kind: Wanted = field(default=lambda step: True)

    def means(self, step: Step) -> bool:
        """Whether the rewrite applies to the step, and the step is selected."""
        return self.kind(step) and marked_path(step) in self.paths

    def done(self, step: Step, what: str) -> None:
        """Record a change of a step."""
        self.at.note(self.told.name, marked_path(step), what)


def rewrite_open(
    model: Model,
    name: str,
    globs: Sequence[str],
    kind: Wanted,
    change: Callable[[Block, Walk], Block],
) -> tuple[Model, Report]:
    """Apply `change` to the open main block; returns the same model if nothing changed.

    `kind` tests which steps the rewrite is for; the globs choose among their paths. Raises
    Unsupported with the obstacles that `change` recorded.
    """
    told = Obstacles(name)
    plain = without_functions(model, told, kind)
    told.refuse()
    marked = replace(plain, main=mark(plain.main))
    paths = [marked_path(v.step) for v in walk_block(marked.main) if kind(v.step)]
    walk = Walk(PassContext.of(marked), chosen(paths, globs, "step"), told, kind)
    before = to_implicit_captures(marked.main)
    after = with_output_names(before, change(before, walk), walk.at)
    told.refuse()
    if not walk.at.done:
        return model, Report()
    main = closure_convert(with_own_names(after))
    return closed(marked, main, walk.at.done)


def closed(model: Model, main: Block, done: Sequence[Change]) -> tuple[Model, Report]:
    """The finished model with this main block, and the report."""
    current = replace(model, main=main)
    return finished(current, PassContext.of(current)), Report(tuple(done))


def map_open(block: Block, change: Callable[[Block], Block]) -> Block:
    """Change the open block and every body of its loops and branches, inner ones first."""

    def inner(step: Step) -> Step:
        return map_bodies(step, lambda _, body: map_open(body, change))

    return change(replace(block, steps=tuple(map(inner, block.steps))))
