"""Rewrites a kernel by the rules of a pass: once, or again and again, until it finds nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TypeVar

from treadle.jit.kernel.dce import remove_dead_nodes
from treadle.jit.kernel.ir import Kernel, Node
from treadle.jit.kernel.rebuild import Rebuild, Rule, copied, rebuilt

_MAX_ROUNDS = 16
"""The most rewrites by one pass: each of them copies the kernel."""

Rules = Mapping[type, Rule]
"""How a pass writes the nodes of some operations."""

Found = TypeVar("Found")


def replacing(
    found: Mapping[Node, Found], write: Callable[[Rebuild, Node, Found], Node]
) -> Rules | None:
    """Rules that write these nodes by what a pass has found of them; None if there are none."""

    def rule(rebuild: Rebuild, node: Node) -> Node:
        known = found.get(node)
        return copied(rebuild, node) if known is None else write(rebuild, node, known)

    return dict.fromkeys((type(node.op) for node in found), rule) if found else None


def rewritten_once(kernel: Kernel, rules: Rules | None) -> Kernel:
    """The kernel by these rules; itself if there are none."""
    return remove_dead_nodes(rebuilt(kernel, rules)) if rules else kernel


def rewrite_pass(find: Callable[[Kernel], Rules | None]) -> Callable[[Kernel], Kernel]:
    """The pass that rewrites a kernel by the rules that are found for it."""

    @wraps(find)
    def run(kernel: Kernel) -> Kernel:
        return rewritten_once(kernel, find(kernel))

    return run


def fixpoint_pass(find: Callable[[Kernel], Rules | None]) -> Callable[[Kernel], Kernel]:
    """The pass that rewrites a kernel by the rules that are found for it, until there are none."""

    @wraps(find)
    def run(kernel: Kernel) -> Kernel:
        for _ in range(_MAX_ROUNDS):
            changed = rewritten_once(kernel, find(kernel))
            if changed is kernel:
                break
            kernel = changed
        return kernel

    return run
