"""Compiles a kernel that needs no Python, for shapes that are known without data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from treadle.ir import Call, Leaf, Step, Type, bodies, operator_of
from treadle.jit.host.kernels import HostKernels
from treadle.jit.internal_errors import decline_on_internal_error
from treadle.jit.kernel import costs
from treadle.jit.kernel.artifact import VECTORIZERS
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.free_kernel import FreeCode, FreeKernel
from treadle.jit.kernel.ir import BOXED_DOMAIN, HostCall, Kernel, Node
from treadle.jit.kernel.target import LARGEST_BYTES, Surroundings, Target
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.runtime.ahead_of_time import expected
from treadle.jit.runtime.compilation import generate_code
from treadle.jit.runtime.specialize import (
    DynamicDims,
    conditions,
    specialize,
    trip_count_inputs,
)
from treadle.jit.toolchain import llvm
from treadle.plan import Region


def free_kernels(region: Region, types: Sequence[Type | None]) -> list[FreeKernel]:
    """The kernels of a region, which a run tries in turn; Declined where one needs Python.

    `types` are those of the inputs: an extent that is no number is left open, and so are those
    along which loops slice. Where inputs are conditions of loops, the first kernel is for true
    ones, which know more of their results' lengths, the second for any.
    """
    holding = conditions(region)
    made = [_free_kernel(region, types, holding)]
    if holding:
        made.append(_free_kernel(region, types, ()))
    return made


@decline_on_internal_error
def _free_kernel(
    region: Region, types: Sequence[Type | None], holding: tuple[int, ...]
) -> FreeKernel:
    from treadle.jit.schedule.canonical import canonical

    base = DynamicDims.of(region)
    key, lengths = expected(region, base, types)
    kernel = specialize(region, key, lengths, {}, HostKernels(), may_assume=False, holding=holding)
    assert all(dtype is not None for dtype, *_ in key), "an input has no native form"
    why = "; ".join(dict.fromkeys(_held_back(kernel)))
    if why:
        raise Declined(why)
    kernel = replace(kernel, parallel_threshold_ns=costs.WORTH_CALLING_BACK)
    kinds = tuple((dtype, shape) for dtype, shape, *_ in key if dtype is not None)
    simple = canonical(kernel)
    trips = {**trip_count_inputs(kernel), **trip_count_inputs(simple)}
    looped = frozenset(base.open)
    return FreeKernel(simple, kernel, kinds, lengths.open, looped, trips, holding)


def _held_back(kernel: Kernel) -> Iterator[str]:
    """Why a kernel needs Python."""
    for node in all_nodes(kernel.main):
        if isinstance(node.op, HostCall) and node.op.leaf.domain == BOXED_DOMAIN:
            yield "values of unknown element type or rank have no native form"
        elif _bytes(node) > LARGEST_BYTES:
            yield "a value of it does not fit into memory"
        elif isinstance(node.op, HostCall):
            yield f"{operator_of(node.op.leaf)} has no native code for its operands here"
    if kernel.boxed_results:
        yield "a result has no native form"


def _bytes(node: Node) -> int:
    return node.size * node.dtype.numpy.itemsize if node.is_static else 0


def free_code(free: FreeKernel, target: Target, prefix: str, name: str) -> FreeCode:
    """The code of a kernel; its functions are `name` and `name`_bounded."""
    around = Surroundings(is_free=True, prefix=prefix)
    plain = generate_code(free.kernel, free.exact, target, around, name)
    kernel = replace(free.as_written, limits_iterations=True, limits_memory=True)
    bounded = generate_code(kernel, free.exact, target, around, f"{name}_bounded")
    return FreeCode(free, plain, bounded)


def free_object(text: str, target: Target, *, vectorizers: Sequence[str] = VECTORIZERS) -> bytes:
    """The object file of a module that does not call the C library implicitly."""
    return llvm.object_code(without_builtins(text), vectorizers=vectorizers, target=target)


def without_builtins(text: str) -> str:
    """The module with a flag that keeps LLVM from turning loops into memcpy or memset."""
    lines = text.split("\n")
    return "\n".join(
        f'{line} "no-builtins"' if line.startswith("define ") else line for line in lines
    )


def operators_without_code(steps: Iterable[Step]) -> Iterator[str]:
    """The operators of steps and their bodies that would be host calls, by name."""
    for step in steps:
        if not _is_known(step):
            yield operator_of(step)
        for _, body in bodies(step):
            yield from operators_without_code(body.steps)


def _is_known(step: Step) -> bool:
    from treadle.jit.lowering import lowering

    if isinstance(step, Leaf):
        return lowering(step.domain, step.op, step.version) is not None
    return not isinstance(step, Call)
