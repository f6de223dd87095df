"""Rewrites a kernel by the rules of a pass, again and again, until the pass finds nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from treadle.jit.kernel.dce import remove_dead_nodes
from treadle.jit.kernel.ir import Kernel
from treadle.jit.kernel.rebuild import Rule, rebuilt

_MAX_ROUNDS = 16
"""The most rewrites by one pass: each of them copies the kernel."""

Rules = Mapping[type, Rule]
"""How a pass writes the nodes of some operations."""


def rewritten(kernel: Kernel, find: Callable[[Kernel], Rules | None]) -> Kernel:
    """The kernel by the rules that `find` has for it; itself if it has none.

    Applied to the result too, until there are no more.
    """
    for _ in range(_MAX_ROUNDS):
        rules = find(kernel)
        if rules is None:
            break
        kernel = remove_dead_nodes(rebuilt(kernel, rules))
    return kernel
