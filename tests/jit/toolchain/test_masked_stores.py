"""Choices that are stored where one of their values was loaded from, without masked stores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.target import Target
from treadle.jit.runtime.compilation import generate_code
from treadle.jit.toolchain import llvm

UPDATED = """kernel
  %x: {dtype}[24,24] = input 0
  %n: int64[] = input 1
  %zero: int64[] = constant 0
  %trips as e0: int64[] = max %n, %zero
  %1 = loop trip %n extent e0 carries %a = %x
    %a: {dtype}[24,24] = carried 0
    %i: int64[] = induction variable
    %row: {dtype}[24] = take along 0 in range of %a, %zero
    %rows: {dtype}[1,24] = view (i1) of %row
    %sum: {dtype}[24,24] = add %a, %rows
{next}
    yield %next
  %last: {dtype}[24,24] = result 0 of %1
  return %last"""
CHOICES = {
    "minimum": ("    %next: {dtype}[24,24] = min %a, %sum", np.minimum),
    "maximum": ("    %next: {dtype}[24,24] = max %sum, %a", np.maximum),
    "where": (
        "    %c: bool[24,24] = less %sum, %a\n    %next: {dtype}[24,24] = where %c, %sum, %a",
        lambda a, b: np.where(b < a, b, a),
    ),
}


def _text(name: str, dtype: str) -> str:
    return UPDATED.replace("{next}", CHOICES[name][0]).replace("{dtype}", dtype)


def _assembly(text: str, target: Target) -> str:
    machine = llvm._machine(target)
    code = generate_code(kernel_of(text), ())
    with llvm.parsed(code.text) as module:
        llvm.optimize(module, machine, vectorizers=code.vectorizers)
        return str(machine.emit_assembly(module))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("name", CHOICES)
def test_no_store_has_a_mask(avx2: Target, name: str, dtype: str) -> None:
    """LLVM 22.1 would write `vmaskmovps` for each."""
    assert "maskmov" not in _assembly(_text(name, dtype), avx2)


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("name", CHOICES)
def test_numbers_are_those_of_numpy(
    avx2: Target, name: str, dtype: str, trips: int, rng: np.random.Generator
) -> None:
    x = rng.integers(-9, 9, (24, 24)).astype(dtype)
    if dtype.startswith("float"):
        x[3, 5], x[0, 7], x[6, 2] = np.nan, np.nan, -0.0
    wanted = x
    for _ in range(trips):
        wanted = CHOICES[name][1](wanted, wanted + wanted[:1])
    (found,) = run_kernel(_text(name, dtype), x, np.int64(trips))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("width", [16, 64])
def test_other_processors_get_the_choice_as_it_is(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    target = replace(llvm.host_target(), vector_bytes=width)
    monkeypatch.setattr(llvm, "host_target", lambda: target)
    assert "freeze" not in generate_code(kernel_of(_text("minimum", "float32")), ()).text
