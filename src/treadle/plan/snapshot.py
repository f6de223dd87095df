"""Serializes a plan with its prepared regions, and restores it.

    bytes = pickle(original model, plan without its runnables, a snapshot of each runnable)

Weights are those of the model's file, whose content has to be there when the plan is restored.

As with any pickle, reading them runs code of their author: they must come from a folder that nobody
else can write to (`jit/toolchain/trust.py`).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from treadle.compact_pickle import NO_FORM, SPOILT
from treadle.errors import Unsupported
from treadle.ir import Model
from treadle.limits import without_collection
from treadle.plan.engines import Engine, Persistence, RecordStore
from treadle.plan.planner import INTERP, with_fallbacks
from treadle.plan.regions import BlockPlan, Plan, Region
from treadle.plan.source_pickle import SourcePickler, SourceUnpickler

__all__ = ["adopt", "from_bytes", "to_bytes"]


def to_bytes(model: Model, plan: Plan, engines: Sequence[Engine], source: bytes) -> bytes | None:
    """The plan and its model as bytes; None if a part of them cannot be serialized.

    `source` is the content of the model's file.
    """
    named = _by_name(engines)
    if named is None:
        return None
    buffer = io.BytesIO()
    try:
        SourcePickler(buffer, source).dump((model, plan.model, _stripped(plan.main, named)))
    except NO_FORM:
        return None
    return buffer.getvalue()


def from_bytes(
    data: bytes, source: bytes, name: str, engines: Sequence[Engine], beside: RecordStore
) -> tuple[Model, Plan] | None:
    """Restore the model and the plan with its regions prepared; None for damaged bytes.

    `source` is the content of the same file; `name` identifies the plan, so that engines find the
    data they keep for its regions.
    """
    named = _by_name(engines)
    if named is None:
        return None
    try:
        with without_collection():
            model, planned, main = SourceUnpickler(data, source).load()
        return model, Plan(
            planned, _restored(main, _Restoring(planned, named, tuple(engines), name, beside))
        )
    except (Unsupported, *SPOILT):
        return None


def adopt(plan: Plan, name: str, engines: Sequence[Engine], beside: RecordStore) -> None:
    """Tell the engines under which name to store data for the regions of this plan."""
    named = _by_name(engines)
    if named is not None:
        _adopt(plan.main, name, named, beside)


def _adopt(
    plan: BlockPlan, name: str, engines: Mapping[str, Persistence], beside: RecordStore
) -> None:
    for number, region in enumerate(plan.regions):
        if region.runnable is not None:
            engines[region.engine].adopt(region.runnable, f"{name} {plan.path} {number}", beside)
        for body in region.bodies.values():
            _adopt(body, name, engines, beside)


def _by_name(engines: Sequence[Engine]) -> dict[str, Persistence] | None:
    found = [(engine.name, engine.traits.persistence) for engine in engines]
    kept = {name: persistence for name, persistence in found if persistence is not None}
    return kept if len(kept) == len(found) else None


def _stripped(plan: BlockPlan, engines: Mapping[str, Persistence]) -> BlockPlan:
    """The plan with each runnable replaced by its snapshot."""

    def region(given: Region) -> Region:
        made = given.runnable
        kept: Any = None if made is None else engines[given.engine].snapshot(made)
        bodies = {key: _stripped(body, engines) for key, body in given.bodies.items()}
        return replace(given, runnable=kept, otherwise=None, meanwhile=None, bodies=bodies)

    return BlockPlan(plan.block, plan.path, tuple(map(region, plan.regions)))


@dataclass(frozen=True, slots=True)
class _Restoring:
    """The state needed to restore regions."""

    model: Model
    named: Mapping[str, Persistence]
    engines: tuple[Engine, ...]
    name: str
    beside: RecordStore


def _restored(plan: BlockPlan, how: _Restoring) -> BlockPlan:
    regions = (_restored_region(plan, number, how) for number in range(len(plan.regions)))
    return BlockPlan(plan.block, plan.path, tuple(regions))


def _restored_region(plan: BlockPlan, number: int, how: _Restoring) -> Region:
    region = plan.regions[number]
    if region.engine == INTERP:
        bodies = {key: _restored(body, how) for key, body in region.bodies.items()}
        return replace(region, bodies=bodies) if bodies else region
    engine, kept = how.named[region.engine], region.runnable
    runnable = engine.restore(region, how.model, kept)
    engine.adopt(runnable, f"{how.name} {plan.path} {number}", how.beside)
    return with_fallbacks(how.model, how.engines, replace(region, runnable=runnable))
