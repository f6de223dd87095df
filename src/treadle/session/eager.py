"""Compiles the loops of a plan when a session is made: `SessionOptions(compile="eager")`."""

from __future__ import annotations

import logging

from treadle.limits import poll
from treadle.plan import BlockPlan

__all__ = ["compile_declared"]

_log = logging.getLogger("treadle")


def compile_declared(block: BlockPlan) -> None:
    """Compile every region, bodies included, for the declared types of its inputs.

    A region for which that is impossible is compiled by the first run that reaches it. Between
    regions the limits of loading are polled, which raises LoadLimitExceeded.
    """
    for region in block.regions:
        poll()
        if region.runnable is not None:
            why = region.runnable.traits.compile_declared()
            if why:
                _log.info("%s: not compiled before its first run: %s", region.path, why)
        for body in region.bodies.values():
            compile_declared(body)
