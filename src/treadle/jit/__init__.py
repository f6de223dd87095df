"""The native engine: compiles loops through the kernel IR and LLVM.

Only this room uses llvmlite.
"""

from typing import TYPE_CHECKING

from treadle.lazy_names import lazy_names

if TYPE_CHECKING:
    from treadle.jit.engine import Jit, cache_folder
    from treadle.jit.kernel.declined import Declined
    from treadle.jit.kernel.free_kernel import FreeKernel
    from treadle.jit.kernel.node_builder import NATIVE
    from treadle.jit.kernel.target import Target
    from treadle.jit.library import (
        Member,
        Signatures,
        compile_library,
        float_object,
        memory_object,
        signatures,
    )
    from treadle.jit.policy.companions import may_join
    from treadle.jit.policy.profitability import why_library_loses
    from treadle.jit.runtime.free_kernel import free_kernels, operators_without_code
    from treadle.jit.toolchain.disk_cache import DiskCache
    from treadle.jit.toolchain.llvm import host_target
    from treadle.jit.toolchain.sampler import Sampler


__all__ = [
    "NATIVE",
    "Declined",
    "DiskCache",
    "FreeKernel",
    "Jit",
    "Member",
    "Sampler",
    "Signatures",
    "Target",
    "cache_folder",
    "compile_library",
    "float_object",
    "free_kernels",
    "host_target",
    "may_join",
    "memory_object",
    "operators_without_code",
    "signatures",
    "why_library_loses",
]

__getattr__ = lazy_names(
    __name__,
    {
        "engine": ("Jit", "cache_folder"),
        "kernel.declined": ("Declined",),
        "kernel.free_kernel": ("FreeKernel",),
        "kernel.node_builder": ("NATIVE",),
        "kernel.target": ("Target",),
        "library": (
            "Member",
            "Signatures",
            "compile_library",
            "float_object",
            "memory_object",
            "signatures",
        ),
        "policy.companions": ("may_join",),
        "policy.profitability": ("why_library_loses",),
        "runtime.free_kernel": ("free_kernels", "operators_without_code"),
        "toolchain.disk_cache": ("DiskCache",),
        "toolchain.llvm": ("host_target",),
        "toolchain.sampler": ("Sampler",),
    },
)
