"""Casts between all element types of native code, and arithmetic of 16-bit floats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.jit.kernel_text import run_kernel
from tests.jit.leaves import leaf, natively
from treadle import ops
from treadle.ir import DType
from treadle.jit.kernel.node_builder import NATIVE
from treadle.jit.toolchain import llvm

NARROW = ("float16", "bfloat16")
COUNT = 600


def bits(rng: np.random.Generator, dtype: DType) -> np.ndarray:
    """Numbers of every kind: any bits at all, and the ones near every edge."""
    kind = dtype.numpy
    if dtype is DType.BOOL:
        return rng.integers(0, 2, COUNT).astype(bool)
    anything = rng.integers(0, 256, COUNT * kind.itemsize).astype(np.uint8).view(kind)
    if kind.kind in "iu":
        near = np.array([0, 1, 2, 126, 127, 128, 255, 256, 32767, 32768, 65504, 65519, 65520, 2**24
                         + 1, 2**31, 2**53 + 1, 2**63], np.uint64)  # fmt: skip
        return np.concatenate([anything, near.astype(kind), (~near).astype(kind)])
    usual = rng.uniform(-300, 300, COUNT).astype(np.float64)
    ties = np.concatenate([1 + k * 2.0**-e for e in (8, 9, 11, 12, 24, 25) for k in [np.arange(9)]])
    sticky = np.concatenate([ties, ties * (1 + 2.0**-40), ties * (1 - 2.0**-40), ties * 2.0**-16,
                             ties * 2.0**-25, ties * 2.0**-26])  # fmt: skip
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.99, 65520, 65536, 1e39])
    with np.errstate(all="ignore"):
        return np.concatenate([anything, *(e.astype(kind) for e in (usual, sticky, special))])


def defined(x: np.ndarray, target: DType) -> np.ndarray:
    """Without what has no meaning: a float that no whole number of the target is near."""
    if target.numpy.kind not in "iu" or x.dtype.kind in "iub":
        return x
    limits = np.iinfo(target.value)
    with np.errstate(all="ignore"):
        number = x.astype(np.float64)
    fits = (number > float(limits.min) - 1) & (number < float(limits.max))
    return x[np.isfinite(number) & fits]


def same(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Bit by bit, but for what bits a NaN has."""
    words = np.dtype(f"u{found.dtype.itemsize}")
    with np.errstate(all="ignore"):
        is_nan = (found != found) & (wanted != wanted)
    return (found.view(words) == wanted.view(words)) | is_nan


@pytest.mark.parametrize("source", sorted(NATIVE, key=str))
def test_casts_equal_numpy(source, rng):
    wrong = {}
    for target in NATIVE:
        x = defined(bits(rng, source), target)
        step = leaf("Cast", 13, 1, 1, to=ops.element_to_proto(target))
        with np.errstate(all="ignore"):
            wanted = ops.bind_kernel(step)([x])[0]
        (found,), is_native = natively(step, [x])
        assert is_native
        if not same(found, wanted).all():
            k = np.flatnonzero(~same(found, wanted))[0]
            wrong[target.value] = (x[k], found[k], wanted[k])
    assert not wrong


@pytest.mark.parametrize("word", NARROW)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Mod"])
def test_arithmetic_of_narrow_floats_is_rounded_once(op, word, rng):
    dtype = DType(word)
    x, y = bits(rng, dtype), bits(rng, dtype)
    rng.shuffle(y)
    with np.errstate(all="ignore"):
        usual = np.isfinite(x.astype(np.float32)) & np.isfinite(y.astype(np.float32))
        x, y = x[usual], y[usual]
        step = leaf(op, 13, 2, 1, **({"fmod": 1} if op == "Mod" else {}))
        wanted = ops.bind_kernel(step)([x, y])[0]
    (found,), is_native = natively(step, [x, y])
    assert is_native
    assert np.array_equal(found.astype(float), wanted.astype(float), equal_nan=True)


@pytest.mark.parametrize("size", [5, 40])
@pytest.mark.parametrize("word", NARROW)
def test_narrow_floats_in_memory_and_registers(word, size, rng):
    x = bits(rng, DType(word))[:size]
    for op, inputs, attributes in (
        ("Transpose", [x.reshape(5, -1)], {}),
        ("Concat", [x, x[::-1].copy()], {"axis": 0}),
        ("Where", [np.arange(size) % 3 > 0, x, -x], {}),
        ("Gather", [x, np.array([2, 0, -1])], {"axis": 0}),
        ("Neg", [x], {}),
        ("IsNaN", [x], {}),
    ):
        step = leaf(op, 13 if op in ("Transpose", "Concat", "Gather", "Neg") else 9, len(inputs), 1,
                    **attributes)  # fmt: skip
        wanted = ops.bind_kernel(step)(inputs)[0]
        (found,), is_native = natively(step, inputs)
        assert is_native
        assert same(found, wanted).all(), op


@pytest.mark.parametrize("has_half", [True, False])
def test_float16_rounds_as_numpy_does(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, *, has_half: bool
) -> None:
    """Every float16, ties, overflow; by instructions of the processor and by integers."""
    own = llvm.host_target()
    if has_half and not own.has_half:
        pytest.skip("a processor without conversions of float16")
    monkeypatch.setattr(llvm, "host_target", lambda: replace(own, has_half=has_half))
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        whole = every.astype(np.float32)
        scales = 10.0 ** rng.integers(-9, 6, 2**14)
        ties = (whole[1:] + whole[:-1]) / 2
        wide = np.concatenate([ties, rng.standard_normal(2**14) * scales]).astype(np.float32)
        count = len(wide)
        text = f"""
        kernel
          %x: float16[65536] = input 0
          %w: float32[{count}] = input 1
          %two: float16[] = constant 2.0
          %s: float16[65536] = add %x, %two
          %p: float16[65536] = mul %s, %x
          %n: float16[{count}] = cast %w
          %b: float32[65536] = cast %x
          return %s, %p, %n, %b
        """
        found = run_kernel(text, every, wide)
        two = np.float16(2)
        wanted = [every + two, (every + two) * every, wide.astype(np.float16), whole]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
