"""Kernels from text: parsed, verified, rebuilt, compiled and run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    Constant,
    InductionVar,
    Input,
    Kernel,
    Loop,
    Node,
    SymbolicDim,
)
from treadle.jit.kernel.node_builder import NodeBuilder
from treadle.jit.kernel.parser import parse_kernel
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.traversal import inner_blocks
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.runtime.compilation import compiled
from treadle.jit.runtime.invoke import CompiledKernel, invoke
from treadle.jit.runtime.specialize import trip_count_inputs
from treadle.jit.schedule.canonical import canonical
from treadle.plan import RunContext


def kernel_of(text: str) -> Kernel:
    """The kernel that a text describes, verified."""
    kernel = parse_kernel(text)
    verify_kernel(kernel)
    return kernel


def canonical_text(text: str) -> str:
    """The text of the canonical form of the kernel that a text describes, verified."""
    made = canonical(kernel_of(text))
    verify_kernel(made)
    return show_kernel(made)


def run_kernel(text: str, *arrays: Any) -> list[Any]:
    """The results of the kernel that a text describes, for these inputs."""
    kernel, inputs = kernel_of(text), [np.asarray(array) for array in arrays]
    dims, trips = input_dims(kernel, inputs), trip_count_inputs(kernel)
    code, machine = compiled(kernel, {*dims, *trips}, None)
    ready = CompiledKernel.of(kernel, code, machine, trips, {*dims, *trips})
    return invoke(ready, inputs, dims, RunContext(), "main")


def input_dims(kernel: Kernel, arrays: list[np.ndarray]) -> Mapping[SymbolicDim, int]:
    """The extents of the dims that the shapes of the inputs name."""
    return {
        dim: arrays[node.op.position].shape[axis]
        for node in kernel.inputs
        if isinstance(node.op, Input)
        for axis, dim in enumerate(node.shape)
        if isinstance(dim, SymbolicDim)
    }


def names_of(text: str, kernel: Kernel) -> Mapping[Node, str]:
    """The names that a text gives the nodes of the kernel it describes."""
    names = re.findall(r"^ *%([\w.]+)", text, re.MULTILINE)
    return dict(zip(_in_order_of_text(kernel.main), names, strict=True))


def _in_order_of_text(block: Block) -> Iterator[Node]:
    for node in block.nodes:
        yield node
        for inner in inner_blocks(node):
            yield from _in_order_of_text(inner)


def rebuilt(text: str) -> str:
    """The kernel of a text, as text, once its nodes have gone through a NodeBuilder."""
    kernel, builder = kernel_of(text), NodeBuilder.start()
    new: dict[Node, Node] = {}

    def copied(node: Node, home: Block) -> Node:
        builder.block = home
        operands = [new[operand] for operand in node.operands]
        match node.op:
            case Constant(array):
                return builder.constant(array)
            case Input() | CarriedArg() | InductionVar():
                return builder.param(node.op, node.dtype, node.shape)
            case Loop():
                return builder.add(loop(node.op, home), node.dtype, node.shape, *operands)
        return builder.add(node.op, node.dtype, node.shape, *operands)

    def loop(op: Loop, home: Block) -> Loop:
        body = Block(op.body.name, home, is_loop=True)
        new.update((node, copied(node, body)) for node in op.body.nodes)
        builder.block = home
        return replace(
            op,
            body=body,
            states=tuple(new[node] for node in op.states),
            nexts=tuple(new[node] for node in op.nexts),
            stacks=tuple(replace(stack, node=new[stack.node]) for stack in op.stacks),
        )

    for node in kernel.main.nodes:
        new[node] = copied(node, builder.main)
    results = tuple(new[node] for node in kernel.results)
    inputs = tuple(new[node] for node in kernel.inputs)
    made = Kernel(inputs, builder.main, results, builder.hoisted)
    verify_kernel(made)
    return show_kernel(made, whole=True)
