"""Direct calls by input names, for programs that are a single call of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from treadle.ir import Value
from treadle.plan import BlockPlan, NamedCall


def call_by_name(main: BlockPlan, like: Mapping[str, object] | None = None) -> NamedCall | None:
    """Call the plan's only region by the params' names; None if the plan has more to do.

    `like`: the call is for feeds with these extents, with which runs are known to be short, so
    Ctrl-C may wait for them.
    """
    region, block = main.regions[0], main.block
    is_all = {*region.inputs} <= {*block.params} and {*region.outputs} >= {*block.results}
    runnable = region.runnable if is_all else None
    if runnable is None:
        return None
    names = [value.name for value in region.inputs]
    traits = runnable.traits
    call = traits.by_name(names) if like is None else traits.unwatched(names, like)
    if call is not None and len(names) < len(block.params):
        call = partial(_with_some, call, names)
    if call is not None and region.outputs != block.results:
        made: list[Value | None] = [*region.outputs]
        call = partial(_in_order, call, [made.index(result) for result in block.results])
    return call


def _with_some(call: NamedCall, names: Sequence[str], feed: dict[str, object]) -> list[Any] | None:
    return call({name: feed[name] for name in names})


def _in_order(call: NamedCall, places: Sequence[int], feed: dict[str, object]) -> list[Any] | None:
    made = call(feed)
    return None if made is None else [made[index] for index in places]
