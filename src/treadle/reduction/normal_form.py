"""Normalizes a candidate by writing and reading it: drops unread steps and inputs."""

from __future__ import annotations

from dataclasses import replace

from treadle import checks, formats, passes
from treadle.errors import TreadleError
from treadle.ir import Block, Model, Step, Value, map_bodies, reads, walk
from treadle.reduction.candidates import Case

_MOST_ROUNDS = 8


def normal_form(case: Case) -> tuple[Case, bytes] | None:
    """The normalized case and its file; None if the model is invalid."""
    try:
        for _ in range(_MOST_ROUNDS):
            before = sum(1 for _ in walk(case.model))
            data = formats.onnx.to_bytes(passes.to_onnx_loops(_pruned(case.model)))
            model = _valid(data)
            if model is None:
                return None
            names = {value.name for value in model.main.params}
            feeds = {name: value for name, value in case.feeds.items() if name in names}
            case = Case(model, feeds)
            if sum(1 for _ in walk(model)) == before:
                return case, data
    except TreadleError:
        return None
    return case, data


def _valid(data: bytes) -> Model | None:
    model, findings = formats.read(data)
    if model is None or any(found.blocks for found in findings):
        return None
    found = checks.infer_with_findings(model)[1]
    return None if any(each.blocks for each in found) else model


def _pruned(model: Model) -> Model:
    """The model without unread values; a body's captures disappear when the file is read again."""
    main = _live(model.main)
    read = _read(main)
    params = tuple(value for value in main.params if value in read)
    return replace(model, main=replace(main, params=params))


def _live(block: Block) -> Block:
    needed = {value for value in block.results if value is not None}
    kept: list[Step] = []
    for step in reversed(block.steps):
        if needed.isdisjoint(value for value in step.results if value is not None):
            continue
        step = map_bodies(step, lambda _, body: _live(body))
        kept.append(step)
        needed |= {value for value in reads(step) if value is not None}
    live = {*needed, *block.params}
    constants = tuple(constant for constant in block.constants if constant.value in live)
    return replace(block, steps=tuple(reversed(kept)), constants=constants)


def _read(block: Block) -> set[Value | None]:
    return {value for step in block.steps for value in reads(step)} | set(block.results)
