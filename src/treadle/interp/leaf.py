"""A leaf: evaluated by its kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from treadle import machine, ops
from treadle.errors import KernelError, LimitExceeded, Unsupported
from treadle.interp.executable import Executable, with_location
from treadle.ir import Leaf
from treadle.plan import RunContext, is_long_for, run_abandonable
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

    room, is_long = _room_for(leaf, path), is_long_for(leaf)

    def act(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Sequence[Any]:
        try:
            size = 0.0 if room is None else room(operands, context, iterations)
            if is_long(operands, size, context):
                return run_abandonable(kernel, operands, context, path)
            return kernel(operands)
        except KernelError as error:
            raise with_location(error, path, iterations) from error.__cause__

    return act


def _room_for(leaf: Leaf, path: str) -> Callable[..., float] | None:
    """A function that gives the bytes of the result, or of more, as far as operands tell.

    It raises if these would not fit into memory or the bound of the run.
    """
    count = ops.needed_bytes(leaf)
    if count is None:
        return None
    name = f"{leaf.op}-{leaf.version}"

    def expect(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> float:
        size = 0.0
        with suppress(*ops.MISFITS):  # the kernel itself reports its faulty operands
            size = count(operands)
        bound = context.limits.bytes
        if bound is not None and size > bound:
            fault = f"{name}: its result would have {size:.3g} bytes, over max_bytes={bound}"
            raise LimitExceeded(f"{fault}; raise the bound or check its operands", path, iterations)
        if (there := machine.shortage(size)) is not None:
            fault = f"its result would have {size:.3g} bytes, of memory there are {there:.3g}"
            raise KernelError(f"{name}: {fault}; check the operands that determine the size")
        return size

    return expect
