"""CF303, CF304, CF405, CF412: replaces wrong declarations by the inferred type, or removes them.

No declaration affects a run, so outputs stay the same. Functions are not inferred, so their
declarations are left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from treadle.checks import advice, kinds_contradict, shapes_contradict
from treadle.infer import infer
from treadle.ir import (
    Block,
    Declaration,
    DType,
    Loop,
    Model,
    Step,
    Tensor,
    Type,
    Value,
    clone_with_new_values,
    ports,
    show_type,
)
from treadle.passes.erase_symbols import erase_symbols
from treadle.passes.fixes.fix import Fix, map_program
from treadle.passes.fixes.inferred import inferred_types

_COUNTERS = (("iteration", DType.INT64), ("condition", DType.BOOL))


@dataclass(slots=True)
class _Work:
    types: Mapping[Value, Type | None]
    stale: Collection[str]
    true: dict[Value, Type | None] = field(default_factory=dict)
    done: list[Fix] = field(default_factory=list)


def correct_declarations(model: Model) -> tuple[Model, list[Fix]]:
    """Correct each declaration that is wrong, or wrong in some iteration."""
    found = advice(infer(model))
    types = {value: erase_symbols(type_) for value, type_ in inferred_types(model).items()}
    work = _Work(types, {f.path for f in found if f.code == "CF412"})

    def look(block: Block, path: str, step: Step | None) -> Block:
        own = (value for made in block.steps for value in made.results)
        counters = _counters(work, step, path)
        for value in (*block.params, *own):
            if value is not None and value not in counters and value in work.types:
                _judge(work, value, path)
        return replace(block, claims=_claims(work, block, path, counters))

    claimed = map_program(model, look)
    if not work.done:
        return model, []
    return replace(
        claimed, main=clone_with_new_values(claimed.main, lambda value: _declared(work, value))
    ), work.done


def _declared(work: _Work, value: Value) -> Value:
    true = work.true.get(value, value.declared)
    return replace(value, declared=true, kept=b"" if value in work.true else value.kept)


def _counters(work: _Work, step: Step | None, path: str) -> set[Value]:
    if not isinstance(step, Loop):
        return set()
    view = ports(step)
    for value, (what, dtype) in zip((view.iteration, view.condition), _COUNTERS, strict=True):
        claim = value.declared if value is not None else None
        if value is not None and claim is not None and kinds_contradict(claim, Tensor(dtype)):
            work.true[value] = Tensor(dtype, ())
            done = f"declared the {what} {value.name} as {dtype}[], not {show_type(claim)}"
            work.done.append(Fix("CF405", path, done))
    return {v for v in (view.iteration, view.condition, view.next_condition) if v is not None}


def _judge(work: _Work, value: Value, path: str) -> None:
    code = _wrong(work, value.declared, work.types[value], path)
    if code:
        work.true[value] = work.types[value]
        work.done.append(_said(code, path, value, value.declared, work.types[value]))


def _claims(
    work: _Work, block: Block, path: str, counters: Collection[Value]
) -> tuple[Declaration, ...]:
    claims = []
    for result, claim in zip(block.results, block.claims, strict=False):
        type_ = work.types.get(result) if result is not None else None
        code = "" if result in counters else _wrong(work, claim.type, type_, path)
        if code and result is not None:
            if result not in work.true:
                work.done.append(_said(code, path, result, claim.type, type_))
            claim = replace(claim, type=type_, kept=b"")
        claims.append(claim)
    return tuple(claims)


def _wrong(work: _Work, claim: Type | None, found: Type | None, path: str) -> str:
    if claim is None or found is None:
        return ""
    if kinds_contradict(claim, found):
        return "CF303"
    if shapes_contradict(claim, found):
        return "CF304"
    within = any(path == stale or path.startswith(f"{stale}/") for stale in work.stale)
    return "CF412" if within and _says_more(claim, found) else ""


def _says_more(claim: Type, found: Type) -> bool:
    if not isinstance(claim, Tensor) or not isinstance(found, Tensor) or claim.shape is None:
        return False
    if found.shape is None or len(found.shape) != len(claim.shape):
        return True
    pairs = zip(claim.shape, found.shape, strict=True)
    return any(said is not None and said != is_ for said, is_ in pairs)


def _said(code: str, path: str, value: Value, claim: Type | None, type_: Type | None) -> Fix:
    done = f"declared {value.name} as {show_type(type_)}, not {show_type(claim)}"
    return Fix(code, path, done)
