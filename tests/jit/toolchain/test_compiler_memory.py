"""Compiling kernels does not leak memory."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys

import pytest

from treadle.jit.toolchain import llvm

TEXT = """
define void @kernel(ptr %x, i64 %n) {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%more, %next]
  %place = getelementptr float, ptr %x, i64 %i
  %before = load float, ptr %place
  %after = fmul float %before, 2.0
  store float %after, ptr %place
  %more = add i64 %i, 1
  %is_last = icmp uge i64 %more, %n
  br i1 %is_last, label %out, label %next
out:
  ret void
}
"""
_WORDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
          "fordblks", "keepcost")  # fmt: skip


class _Used(ctypes.Structure):
    """What the C library says of its memory."""

    _fields_ = [(word, ctypes.c_size_t) for word in _WORDS]


def in_use() -> int:
    """The bytes that the C library has given out."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("the C library does not tell")
    library.mallinfo2.restype = _Used
    used = library.mallinfo2()
    return int(used.uordblks + used.hblkhd)


def test_compiling_leaks_little_memory() -> None:
    for _ in range(3):
        llvm.object_code(TEXT)
    gc.collect()
    before, count = in_use(), 20
    for _ in range(count):
        llvm.object_code(TEXT)
    gc.collect()
    assert (in_use() - before) / count < 8192, "bytes for each kernel"


REFUSED = """
import gc
import subprocess
import sys
from treadle.jit.toolchain import llvm

MODULE = '''define i32 @f(i1 %c) {
entry:
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %b
b:
  ret i32 %x
}'''
for _ in range(50):
    try:
        llvm.object_code(MODULE)
    except RuntimeError as error:
        error.itself = error
    gc.collect()
"""


def test_a_module_that_llvm_refuses_is_freed_before_its_context() -> None:
    """Python's collector freed the context of a traceback's module first, and the process died."""
    command = [sys.executable, "-c", REFUSED]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
