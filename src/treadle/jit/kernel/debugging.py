"""Checks of kernels under TREADLE_DEBUG=1, as in tests; otherwise they cost nothing."""

from __future__ import annotations

from treadle.boundary import is_debugging
from treadle.jit.kernel.ir import Constant, Kernel
from treadle.jit.kernel.traversal import all_nodes

_MOST_CONSTANT_BYTES = 65_536
"""The constant bytes from which a kernel is not printed and parsed again."""


def check_when_debugging(kernel: Kernel) -> Kernel:
    """Return the kernel; under TREADLE_DEBUG=1 it is verified, printed and parsed first."""
    if is_debugging():
        from treadle.jit.kernel.verifier import verify_kernel

        verify_kernel(kernel)
        _check_text(kernel)
    return kernel


def _check_text(kernel: Kernel) -> None:
    from treadle.jit.kernel.op_text import InvalidKernel
    from treadle.jit.kernel.parser import parse_kernel
    from treadle.jit.kernel.printer import show_kernel

    constants = (node.op.array for node in all_nodes(kernel.main) if isinstance(node.op, Constant))
    if sum(array.nbytes for array in constants) > _MOST_CONSTANT_BYTES:
        return
    text = show_kernel(kernel, whole=True)
    found = show_kernel(parse_kernel(text), whole=True)
    if found != text:
        raise InvalidKernel(
            f"the text of a kernel was parsed as a different kernel:\n{text}\n\n{found}"
        )
