"""Decides whether native code is expected to beat the engine that would run the loop otherwise.

Costs common to both engines are left out. Measured against onnxruntime (`kernel/costs.py` has the
numbers), native code saves time for each iteration and for each operator in it, and loses time

    for host calls, and for lists that cross the region's boundary
    for products of whole numbers of 8 bits with four rows or more: half of their time
    for large products what more than two threads of onnxruntime would gain, since native code was
    not measured with more

The cost of a list is spread over the iterations, of which ten are assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from treadle.ir import Branch, DType, Leaf, Loop, Step, bodies
from treadle.jit.host.kernels import HostKernels
from treadle.jit.host.sequence_layout import PACK, UNPACK
from treadle.jit.kernel import costs
from treadle.jit.kernel.free_kernel import FreeKernel
from treadle.jit.kernel.ir import (
    BOXED_DOMAIN,
    Block,
    Constant,
    Elementwise,
    HostCall,
    Kernel,
    MatMul,
    Node,
    View,
    static_shape,
)
from treadle.jit.kernel.traversal import inner_blocks
from treadle.jit.lowering import lowering
from treadle.plan import is_compute_heavy

_LARGE_PRODUCT = 5e7
"""Multiplications from which onnxruntime shares a product among its threads."""
_OPERATIONS_PER_NS = 150.0
_MEASURED_THREADS = 2
_MIN_BYTES_ROWS = 4
_BYTES = (DType.INT8, DType.UINT8)
_FREE = frozenset(("Constant", "Identity"))


def why_unprofitable(
    steps: Sequence[Step], kernel: Kernel, threads: int, kernels: HostKernels
) -> str:
    """Why onnxruntime is expected to be faster for these steps; "" if it is not."""
    saved = sum(saved_per_iteration(step) for step in steps if isinstance(step, Loop))
    found = [
        (
            _lost(node, threads, kernels) * costs.ASSUMED_TRIPS ** max(depth - 1, 0)
            if depth
            else _begun(node),
            node,
        )
        for node, depth in _nodes(kernel.main, 0)
    ]
    lost = sum(cost for cost, _ in found)
    if lost <= saved:
        return ""
    _, dearest = max(found, key=lambda each: each[0])
    what = "a product"
    if isinstance(dearest.op, HostCall):
        what = (
            "conversions of lists at the region's boundary"
            if _begun(dearest)
            else dearest.op.leaf.op
        )
    return (
        f"an iteration would save {saved / 1000:.0f} µs, and lose {lost / 1000:.0f}, most of"
        f" them by {what}"
    )


def why_library_loses(steps: Sequence[Step], free: FreeKernel, cost: float) -> str:
    """Why onnxruntime is expected to be faster than a library's operator; "" if it is not.

    `cost` is the nanoseconds that onnxruntime spends on the operator.
    """
    kernels = HostKernels()
    found = list(_nodes(free.kernel.main, 0))
    vague = [node for node, depth in found if not depth and isinstance(node.op, MatMul)]
    if not all(node.is_static and node.operands[0].is_static for node in vague):
        return "the size of a matrix product outside of loops is not known before the run"
    branches = sum(isinstance(step, Branch) for step in steps)
    saved = sum(map(_saved_by, steps)) + branches * costs.OTHER_BRANCH
    lost = cost + sum(_lost(node, 1, kernels) * costs.ASSUMED_TRIPS**depth for node, depth in found)
    if lost <= saved:
        return ""
    return (
        f"onnxruntime is expected to be faster: an operator would save {saved / 1000:.1f} µs, and"
        f" lose {lost / 1000:.1f}"
    )


def why_host_calls_dominate(loop: Loop, kernels: HostKernels) -> bool:
    """Whether calls of other engines' kernels, without fast ones, cost more than is saved."""
    return _called(loop.body.steps, kernels) > saved_per_iteration(loop)


def _called(steps: Sequence[Step], kernels: HostKernels) -> float:
    """The cost of those calls in one iteration."""
    lost = 0.0
    for step in steps:
        if isinstance(step, Leaf):
            is_native = lowering(step.domain, step.op, step.version) is not None
            lost += costs.PROVIDED_CALL if not is_native and kernels.needs_another(step) else 0.0
        else:
            inner = max((_called(body.steps, kernels) for _, body in bodies(step)), default=0.0)
            lost += inner * (costs.ASSUMED_TRIPS if isinstance(step, Loop) else 1.0)
    return lost


def saved_per_iteration(loop: Loop) -> float:
    """The savings of one iteration, in nanoseconds."""
    return costs.OTHER_ITERATION + sum(map(_saved_by, loop.body.steps))


def _saved_by(step: Step) -> float:
    if isinstance(step, Leaf):
        return 0.0 if step.op in _FREE else costs.OTHER_OPERATOR
    if isinstance(step, Loop):
        return costs.OTHER_OPERATOR + costs.ASSUMED_TRIPS * saved_per_iteration(step)
    return costs.OTHER_OPERATOR + max(sum(map(_saved_by, block.steps)) for _, block in bodies(step))


def _nodes(block: Block, depth: int) -> Iterator[tuple[Node, int]]:
    """Every node, and the number of loops around it."""
    for node in block.nodes:
        yield node, depth
        for inner in inner_blocks(node):
            yield from _nodes(inner, depth + inner.is_loop)


def _begun(node: Node) -> float:
    """The cost per iteration of a list that crosses the region's boundary."""
    is_list = isinstance(node.op, HostCall) and node.op.leaf.op in (UNPACK, PACK)
    return costs.LIST_CALL / costs.ASSUMED_TRIPS if is_list else 0.0


def _lost(node: Node, threads: int, kernels: HostKernels) -> float:
    """The cost of one evaluation of the node."""
    match node.op:
        case HostCall(leaf=leaf):
            if leaf.domain == BOXED_DOMAIN:
                return costs.BOXING_CALL
            if kernels.lends(leaf):
                return costs.PROVIDED_CALL
            return costs.HEAVY_CALL if is_compute_heavy(leaf) else costs.CALL
        case MatMul() if node.is_static and node.operands[0].is_static:
            operations = 2.0 * prod(static_shape(node)) * static_shape(node.operands[0])[-1]
            return operations * (_behind(node) + _alone(operations, threads))
    return 0.0


def _behind(product: Node) -> float:
    """The deficit in nanoseconds per operation of a product of whole numbers of 8 bits."""
    rows = static_shape(product)[-2]
    if rows >= _MIN_BYTES_ROWS and all(map(_is_of_bytes, product.operands)):
        return costs.DEFICIT_OF_BYTES
    return 0.0


def _is_of_bytes(node: Node) -> bool:
    """Whether the elements are whole numbers of 8 bits, converted, without a zero point."""
    while node.op in (Elementwise("cast"), Elementwise("sub")) or isinstance(node.op, View):
        node = node.operands[0]
        if node.dtype in _BYTES:
            return True
    return isinstance(node.op, Constant) and _are_whole(node.op.array)


def _are_whole(array: np.ndarray) -> bool:
    """Whether a constant has whole numbers of 8 bits only."""
    few = array.reshape(-1)[:64]
    return bool(few.size and (few == few.round()).all() and abs(few).max() <= 255)


def _alone(operations: float, threads: int) -> float:
    """The deficit in nanoseconds per operation of a large product with few threads."""
    if operations < _LARGE_PRODUCT or threads <= _MEASURED_THREADS:
        return 0.0
    return (1 - _MEASURED_THREADS / threads) / _OPERATIONS_PER_NS
