"""Decides which leaves and loops onnxruntime runs correctly."""

from __future__ import annotations

from collections.abc import Iterator

from treadle import ops
from treadle.checks import extent_refusal
from treadle.delegate.kernels import is_known, refusal, registry
from treadle.delegate.known_bugs import known_bug
from treadle.delegate.loop import form_refusal
from treadle.delegate.ranks import omission_refusal, rank_refusal
from treadle.delegate.workarounds.concat import join_refusal
from treadle.delegate.workarounds.sizes import has_open_size, size_refusal
from treadle.ir import Branch, Call, Leaf, Loop, Model, Reference, Step, bodies, operator_of
from treadle.plan import Verdict

_STANDARD = ("", "ai.onnx", "ai.onnx.ml")
_DEEPEST = 100
"""The deepest nesting of bodies: beyond it onnxruntime's recursive parser may crash."""


def capability_of(
    step: Step, model: Model, *, inside: bool, has_libraries: bool = False, on_trial: bool = False
) -> Verdict:
    """The verdict of Engine.judge.

    `has_libraries`: libraries of custom operators are registered; their operators are known only
    when a session is made. `on_trial`: accept a step without a registered kernel, since making a
    session shows whether onnxruntime runs it in another way (a function's body, casts). Steps that
    would crash the process or give wrong answers are never accepted.
    """
    if inside and any(bodies(step)) and not isinstance(step, Leaf):
        return Verdict(
            False, "a listener or a limit needs every iteration, and onnxruntime shows none"
        )
    if inside and isinstance(step, Leaf) and has_open_size(step):
        return Verdict(False, "a limit holds for its result, whose size values determine")
    if has_libraries and isinstance(step, Leaf) and not is_known(step):
        return Verdict(True, "a library of custom operators may have it")
    why = next(_refusals(step, model, 0, on_trial), "")
    if why:
        return Verdict(False, why)
    if on_trial:
        return Verdict(True, f"no other engine has a kernel, {registry().release} loads it")
    if isinstance(step, Leaf):
        return Verdict(True, f"{registry().release} has kernels for all its steps")
    return Verdict(True, f"{registry().release} runs {operator_of(step)} as a whole")


def _refusals(step: Step, model: Model, depth: int, on_trial: bool) -> Iterator[str]:
    """Why onnxruntime declines the step, the outermost reason first.

    The graphs of onnxruntime's own operators (a decoder) are exported unchanged and not checked.
    """
    if depth > _DEEPEST:
        yield f"bodies are nested more than {_DEEPEST} deep"
        return
    endless = ops.why_endless(step) if isinstance(step, Leaf) else ""
    if endless:
        yield endless
    yield from _own_refusals(step, model, on_trial)
    if isinstance(step, Leaf):
        return
    for name, body in bodies(step):
        for inner in body.steps:
            for why in _refusals(inner, model, depth + 1, on_trial):
                yield f"in its {name}: {why}" if depth == 0 else why


def _own_refusals(step: Step, model: Model, on_trial: bool) -> Iterator[str]:
    match step:
        case Call():
            yield f"{operator_of(step)} is a call that was not inlined"
        case Leaf():
            why = _leaf_refusal(step, on_trial) or join_refusal(step, model)
            if why:
                yield why
        case Loop():
            why = form_refusal(step)
            if why:
                yield f"{operator_of(step)}: {why}"
        case Branch():
            if None in (*step.then.results, *step.otherwise.results):
                yield "a branch leaves a result out"


def _leaf_refusal(step: Leaf, on_trial: bool) -> str:
    if step.blocks and step.domain in _STANDARD:
        return f"{step.op} carries graphs"
    if any(isinstance(a.value, Reference) for a in step.attributes.values()):
        return f"{step.op} takes an attribute of a function that was not inlined"
    unserved = "" if on_trial else refusal(step)
    return (
        unserved
        or known_bug(step)
        or omission_refusal(step, step.operands)
        or rank_refusal(step)
        or extent_refusal(step)
        or size_refusal(step)
    )
