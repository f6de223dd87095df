"""One operator of any version as a kernel of its own, against its numpy kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treadle import ir, ops
from treadle.jit.kernel.ir import HostCall, Input, Kernel
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.lowering import lower_block
from treadle.jit.lowering.lowering_builder import LoweringBuilder
from treadle.jit.runtime.compilation import compiled
from treadle.jit.runtime.invoke import CompiledKernel, invoke
from treadle.plan import RunContext


def leaf(op: str, version: int, operands: int, results: int, domain: str = "", **attributes: Any):
    """A leaf with values of its own."""
    given = {name: attribute(name, value) for name, value in attributes.items()}
    takes = [ir.Value(f"x{k}") for k in range(operands)]
    gives = [ir.Value(f"y{k}") for k in range(results)]
    return ir.Leaf(domain, op, version, tuple(takes), tuple(gives), given)


def attribute(name: str, value: Any) -> ir.Attribute:
    """An attribute of a Python value."""
    from onnx import helper

    encoded = ops.tensor_of(value) if isinstance(value, np.ndarray) else value
    return ops.attribute_from_proto(helper.make_attribute(name, encoded))


def natively(
    step: ir.Leaf, inputs: Sequence[np.ndarray | None], fixed: Sequence[int] = ()
) -> tuple[list[Any], bool]:
    """What the leaf gives, and whether that is native code without a call out of it.

    The inputs at the `fixed` places are constants. Raises Declined where it has no kernel.
    """
    run, is_whole = native_leaf(step, inputs, fixed)
    return run(inputs), is_whole


def native_leaf(
    step: ir.Leaf, inputs: Sequence[np.ndarray | None], fixed: Sequence[int] = ()
) -> tuple[Callable[[Sequence[np.ndarray | None]], list[Any]], bool]:
    """As `natively`, but a function of other inputs of these types, equal at the `fixed` places."""
    kernel = _kernel(step, inputs, fixed)
    code, machine = compiled(kernel, set(), None)
    made = CompiledKernel.of(kernel, code, machine, {})

    def run(inputs: Sequence[np.ndarray | None]) -> list[Any]:
        given = [array for array in inputs if array is not None]
        arrays = [np.ascontiguousarray(array).reshape(array.shape) for array in given]
        return invoke(made, arrays, {}, RunContext(), "main")

    return run, not _escapes(kernel)


def is_native(
    step: ir.Leaf, inputs: Sequence[np.ndarray | None], fixed: Sequence[int] = ()
) -> bool:
    """Whether the leaf is native code without a call out of it, which is not compiled."""
    return not _escapes(_kernel(step, inputs, fixed))


def _kernel(step: ir.Leaf, inputs: Sequence[np.ndarray | None], fixed: Sequence[int]) -> Kernel:
    b = LoweringBuilder.start()
    params = tuple(value for value in step.operands if value is not None)
    block = ir.Block(params=params, steps=(step,), results=step.results)
    given = [array for array in inputs if array is not None]
    nodes = []
    for position, array in enumerate(given):
        dtype = ir.dtype_of(array.dtype)
        assert dtype is not None
        nodes.append(b.param(Input(position), dtype, array.shape))
    known = [b.constant(given[k]) if k in fixed else node for k, node in enumerate(nodes)]
    results = lower_block(b, block, known)
    return Kernel(tuple(nodes), b.main, tuple(node for node in results if node is not None))


def _escapes(kernel: Kernel) -> bool:
    return any(isinstance(node.op, HostCall) for node in all_nodes(kernel.main))
