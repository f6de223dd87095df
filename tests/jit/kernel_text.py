"""Kernels from text: parsed, verified, compiled and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from treadle.jit.kernel.ir import Input, Kernel, SymbolicDim
from treadle.jit.kernel.parser import parse_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.runtime.compilation import compiled
from treadle.jit.runtime.invoke import CompiledKernel, invoke
from treadle.jit.runtime.specialize import trip_count_inputs
from treadle.plan import RunContext


def kernel_of(text: str) -> Kernel:
    """The kernel that a text describes, verified."""
    kernel = parse_kernel(text)
    verify_kernel(kernel)
    return kernel


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
