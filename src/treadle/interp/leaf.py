"""A leaf: evaluated by its kernel."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from treadle import ops
from treadle.errors import KernelError, Unsupported
from treadle.interp.executable import Executable, with_location
from treadle.ir import Leaf
from treadle.plan import RunContext
from treadle.tracing import Iterations


def prepare_leaf(leaf: Leaf, path: str) -> Executable | None:
    """Bind the leaf's kernel to its attributes; None if the leaf has no kernel.

    results = kernel(*operands)
    """
    if leaf.blocks or ops.kernel(leaf.domain, leaf.op, leaf.version) is None:
        return None
    try:
        kernel = ops.bind_kernel(leaf, silent=False)
    except Unsupported as error:
        schema = ops.schema(leaf.domain, leaf.op, leaf.version)
        if schema is not None and schema.is_function:
            return None
        raise Unsupported(error.op, error.version, error.why, path) from error

    kernel = _within_memory(leaf, kernel)

    def act(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Sequence[Any]:
        try:
            return kernel(operands)
        except KernelError as error:
            raise with_location(error, path, iterations) from error.__cause__

    return act


def _within_memory(leaf: Leaf, kernel: ops.Prepared) -> ops.Prepared:
    """Wrap the kernel: it fails if its result would not fit into the machine's memory."""
    count = None if leaf.domain else ops.result_bytes(leaf.op)
    if count is None:
        return kernel
    most = ops.memory_of_machine()

    def checked(operands: Sequence[Any]) -> tuple[Any, ...]:
        with suppress(*_OTHER_FAULTS):  # the kernel itself reports its faulty operands
            size = count(operands)
            if size > most:
                fault = f"its result would have {size:.3g} bytes, the machine has {most:.3g}"
                raise KernelError(
                    f"{leaf.op}-{leaf.version}: {fault}; check the operands that determine the size"
                )
        return kernel(operands)

    return checked


_OTHER_FAULTS = (TypeError, ValueError, AttributeError, IndexError)
