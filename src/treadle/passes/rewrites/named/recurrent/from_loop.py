"""Replaces a Scan or Loop that computes an RNN, GRU or LSTM by that operator.

    Scan(h, c, x of X): ... Sigmoid, Tanh ...     ->     Y, Y_h, Y_c = LSTM(X, W, R, B, , h, c)

The step is brought to its normal form (`normal_form.py`), an operator is guessed from it
(`matching.py`), and accepted only if its own expansion has the same normal form and both give the
same results on random data (`trial.py`). The model is simplified first, and operators in bodies
that process one item, as in PyTorch's export of an LSTMCell, are expanded.

Declines weights computed at run time, states and stacks the operator does not have, lengths with
other padding than the operators', and any other normal form.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import permutations

from treadle.ir import Block, Loop, Model, Step, Value, bodies, ports, reads, verified
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Change, Report
from treadle.passes.rewrites.finished import without_functions
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.rewrites.named.recurrent.constants import Constants
from treadle.passes.rewrites.named.recurrent.matching import guesses
from treadle.passes.rewrites.named.recurrent.normal_form import Unreadable
from treadle.passes.rewrites.named.recurrent.operator_steps import write_operator
from treadle.passes.rewrites.named.recurrent.recurrence import (
    Recurrence,
    Surroundings,
    float_states,
    recurrence_of,
)
from treadle.passes.rewrites.named.recurrent.to_scan import expand_cells
from treadle.passes.rewrites.named.recurrent.trial import OTHER, trial_of, unlike
from treadle.passes.rewrites.open_form import closed, map_open
from treadle.passes.rewrites.paths import chosen, loop_paths, mark, marked_path
from treadle.passes.rewrites.writer import Writer
from treadle.passes.simplify import simplify
from treadle.passes.simplify.captures import (
    all_steps,
    closure_convert,
    replaced,
    to_implicit_captures,
)
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.dce import eliminate_dead_steps
from treadle.passes.simplify.names import with_output_names, with_own_names

NAME = "scan-to-recurrent"
_FEWEST_STATES, _MOST_STATES = 1, 2


@verified
def scan_to_recurrent(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Replace loops by the RNN, GRU or LSTM that they compute.

    Loops selected by globs must match; with the default selection, others stay.
    """
    told = Obstacles(NAME)
    plain = without_functions(model, told, lambda step: isinstance(step, Loop))
    told.refuse()
    plain = expand_cells(plain)
    marked = replace(plain, main=mark(plain.main))
    paths = chosen(loop_paths(marked.main), options.paths, "loop")
    if not paths:
        return model, Report()
    clean, _ = simplify(marked)
    at = PassContext.of(clean).trusting()
    before = to_implicit_captures(clean.main)
    search = _Search.of(before, at, paths, told, options)
    after = with_output_names(before, search.changed(before), at)
    if not search.done or (told.found and options.paths != ("*",)):
        told.refuse()
    if not search.done:
        return model, Report()
    main = closure_convert(with_own_names(after))
    finished, report = closed(clean, main, search.done)
    return simplify(finished, (eliminate_dead_steps,))[0], report


@dataclass(slots=True)
class _Search:
    around: Surroundings
    paths: Collection[str]
    told: Obstacles
    options: RewriteOptions
    done: list[Change]

    @classmethod
    def of(
        cls,
        block: Block,
        at: PassContext,
        paths: Collection[str],
        told: Obstacles,
        options: RewriteOptions,
    ) -> _Search:
        steps = list(all_steps(block))
        made = {value: step for step in steps for value in step.results if value is not None}
        around = Surroundings(at, made, _read(block), Constants(made, at))
        return cls(around, paths, told, options, [])

    def changed(self, block: Block) -> Block:
        """The open block with operators instead of its loops."""
        by: dict[Value, Value | None] = {}

        def change(inner: Block) -> Block:
            writer = Writer(self.around.at)
            for step in inner.steps:
                made = self._operator(step) if isinstance(step, Loop) else None
                if made is None:
                    writer.steps.append(step)
                    continue
                part, results = made
                writer.steps += part.steps
                writer.constants += part.constants
                by.update(results)
            return writer.into(replace(inner, steps=tuple(writer.steps)))

        return replaced(map_open(block, change), by)

    def _operator(self, loop: Loop) -> tuple[Writer, dict[Value, Value]] | None:
        """The steps that replace a loop, and their values for its results; None if it stays."""
        path = marked_path(loop)
        if path not in self.paths:
            return None
        reason = OTHER
        try:
            for found in _recurrences(loop, self.around):
                made = self._taken(found)
                if not isinstance(made, str):
                    self.done.append(Change(NAME, path, made[2]))
                    return made[0], made[1]
                reason = made if reason == OTHER else reason
        except Unreadable as why:
            reason = str(why)
        self.told.add(path, reason, "select the loops by paths=")
        return None

    def _taken(self, found: Recurrence) -> tuple[Writer, dict[Value, Value], str] | str:
        """The operator of a recurrence, and a description; or why it has none."""
        reason = OTHER
        wanted = [k for k, (port, _) in enumerate(found.stacks) if port.result in self.around.read]
        trial = trial_of(found, self.around)
        for guess in guesses(found.next, found.features):
            writer = Writer(self.around.at)
            results = dict(write_operator(found, guess, wanted, writer, self.around))
            problem = unlike(trial, writer, results, self.options)
            if problem is None:
                writer = Writer(self.around.at)
                results = dict(
                    write_operator(found, guess, wanted, writer, self.around, final=True)
                )
                return writer, results, f"became {_article(guess.op)} {guess.op}"
            reason = problem if reason == OTHER else reason
        return reason


def _article(op: str) -> str:
    return "a" if op == "GRU" else "an"


def _recurrences(loop: Loop, around: Surroundings) -> Iterator[Recurrence]:
    """The readings of a loop: with outside products included or not, h and c in any order."""
    states = float_states(loop, around.at)
    if not _FEWEST_STATES <= len(states) <= _MOST_STATES:
        raise Unreadable(f"it carries {len(states)} float tensors, and the operators one or two")
    others = [port for port in ports(loop).carried if port not in states]
    for port in others:
        if port.result in around.read:
            raise Unreadable(
                f'"{port.param.name}" is read after the loop, but is not a result of the operators'
            )
    for absorbing in (True, False):
        for order in permutations(states):
            yield recurrence_of(loop, order, around, absorbing=absorbing)


def _read(block: Block) -> Collection[Value]:
    """Every value that a step or a block's result reads."""
    found = {value for value in block.results if value is not None}
    for step in all_steps(block):
        found |= {value for value in reads(step) if value is not None}
        found |= _results_of_bodies(step)
    return found


def _results_of_bodies(step: Step) -> set[Value]:
    return {value for _, body in bodies(step) for value in body.results if value is not None}
