"""The stack of a kernel is aligned to vectors, which LLVM keeps there for want of registers."""

from __future__ import annotations

import re

import pytest

from tests.jit.kernel_text import kernel_of
from treadle.jit.codegen.kernel import emit_kernel
from treadle.jit.kernel.target import Target

NESTS = """kernel
  %x: float32[n0] = input 0
  %y: float32[n0] = add %x, %x
  %e: float32[n0] = exp %y
  return %y, %e"""


@pytest.mark.parametrize(
    ("triple", "vector_bytes", "wanted"),
    [
        ("x86_64-unknown-linux-gnu", 64, "64"),
        ("x86_64-pc-windows-msvc", 32, "32"),
        ("x86_64-unknown-linux-gnu", 16, None),
        ("aarch64-unknown-linux-gnu", 16, None),
        ("wasm32-unknown-unknown", 16, None),
    ],
)
def test_the_stack_is_aligned_to_vectors_that_are_wider(
    triple: str, vector_bytes: int, wanted: str | None
) -> None:
    target = Target(triple, "", "", vector_bytes, 32, has_fma=True)
    text = emit_kernel(kernel_of(NESTS), (), target).text
    heads = re.findall(r"^define .*$", text, re.MULTILINE)
    assert heads
    for head in heads:
        found = re.search(r"alignstack\((\d+)\)", head)
        assert (found[1] if found else None) == wanted
