"""The path of an operator from one version to another, up to its next adapter."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from treadle.ops import known_operators
from treadle.passes.versions.table import DOWN, UP, Adapter


class Route(NamedTuple):
    """The next version that needs an adapter, or the last one; None below the first.

    `opset` is that of the steps the adapter makes.
    """

    reached: int | None
    opset: int
    adapter: Adapter | None
    is_up: bool


@cache
def route(op: str, version: int, wanted: int | None) -> Route:
    """The route from one version to another; None is an opset before the operator's first version.

    Versions between which a step need not change are skipped.
    """
    versions = known_operators("")[op]
    if wanted is not None and wanted > version:
        later = [v for v in versions if version < v <= wanted]
        if (op, later[0]) in UP:
            return Route(later[0], later[0], UP[op, later[0]], True)
        free = [
            v for k, v in enumerate(later) if not any((op, each) in UP for each in later[: k + 1])
        ]
        return Route(free[-1], free[-1], None, True)
    if (op, version) in DOWN:
        before = max((v for v in versions if v < version), default=None)
        return Route(before, version - 1, DOWN[op, version], False)
    reached: int | None = version
    while reached is not None and reached != wanted and (op, reached) not in DOWN:
        reached = max((v for v in versions if v < reached), default=None)
    if reached is None and version > versions[0]:
        reached = versions[0]
    return Route(reached, (reached or version) - 1, None, False)
