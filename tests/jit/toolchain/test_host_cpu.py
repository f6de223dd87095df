"""The host's processor, read without LLVM: everything that LLVM detects is included."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treadle.jit.toolchain import host_cpu, llvm, symbols

pytestmark = pytest.mark.skipif(not symbols.is_possible(), reason="x86-64 and Linux alone")

_A, _B, _C, _D = range(4)
BITS = {
    "sse3": (1, _C, 0),
    "sse4.2": (1, _C, 20),
    "popcnt": (1, _C, 23),
    "avx2": (7, _B, 5),
    "bmi2": (7, _B, 8),
    "avx512f": (7, _B, 16),
    "adx": (7, _B, 19),
    "gfni": (7, _C, 8),
    "avx512vnni": (7, _C, 11),
    "sse4a": (0x80000001, _C, 6),
    "lzcnt": (0x80000001, _C, 5),
}
"""Features by LLVM's names, and where CPUID tells them."""


def asked(monkeypatch, change=lambda leaf, part, words: None) -> str:
    """The words of a processor, some of them changed."""
    whole = host_cpu._words

    def words(ask, kept):
        def changed(leaf, part, place):
            ask(leaf, part, place)
            registers = host_cpu.ctypes.c_uint32 * 4
            change(leaf, part, registers.from_address(place))

        return whole(changed, kept)

    host_cpu.processor.cache_clear()
    with monkeypatch.context() as changes:
        changes.setattr(host_cpu, "_words", words)
        found = host_cpu.processor()
    host_cpu.processor.cache_clear()
    assert found is not None
    return found


def test_detected_features_include_llvms(monkeypatch):
    seen = {}
    asked(monkeypatch, lambda leaf, part, words: seen.setdefault((leaf, part), list(words)))
    features = llvm._llvm().get_host_cpu_features()
    for name, (leaf, register, bit) in BITS.items():
        assert bool(seen[leaf, 0][register] >> bit & 1) == features[name], name


@pytest.mark.parametrize("name", BITS)
def test_one_feature_more_or_less_is_another_processor(monkeypatch, name):
    wanted, register, bit = BITS[name]

    def change(leaf, part, words):
        if (leaf, part) == (wanted, 0):
            words[register] ^= 1 << bit

    assert asked(monkeypatch, change) != asked(monkeypatch)


def test_cores_of_one_processor_are_alike(monkeypatch):
    def move(leaf, part, words):
        if leaf == 1:
            words[_B] ^= 0xFF << 24  # the number of the core

    assert asked(monkeypatch, move) == asked(monkeypatch)


def test_leaves_that_are_not_there_are_not_asked(monkeypatch):
    asked_for = []

    def change(leaf, part, words):
        asked_for.append(leaf)
        if leaf in (0, 0x80000000):
            words[_A] = leaf + 1

    asked(monkeypatch, change)
    assert asked_for == [0, 1, 0x80000000, 0x80000001]


@pytest.mark.parametrize("missing", ["processor", "compiler"])
def test_llvm_is_asked_where_something_is_not_known(monkeypatch, missing):
    known = llvm.description()
    monkeypatch.setattr(llvm, missing, lambda: None)
    assert llvm.description.__wrapped__() == llvm._described() != known


def test_another_llvm_is_another_description(monkeypatch):
    known = llvm.description()
    monkeypatch.setattr(llvm, "compiler", lambda: "another")
    assert llvm.description.__wrapped__() != known
    assert llvm._triple().partition("-")[0] == symbols.MACHINE


ROW = """
define void @f(ptr noalias %a, ptr noalias %b) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
  %p = getelementptr float, ptr %a, i64 %i
  %q = getelementptr float, ptr %b, i64 %i
  %x = load float, ptr %p
  %y = fadd float %x, %x
  store float %y, ptr %q
  %j = add nuw nsw i64 %i, 1
  %c = icmp slt i64 %j, 1024
  br i1 %c, label %loop, label %done
done:
  ret void
}
"""


@pytest.mark.parametrize(("width", "lanes"), [(64, 16), (32, 8)])
def test_vectors_are_as_wide_as_the_target_says(width, lanes):
    """LLVM alone would use 32 bytes on this processor."""
    target = replace(
        llvm.host_target(), triple="x86_64-unknown-linux-gnu", processor="sapphirerapids",
        features="", vector_bytes=width, code_model="default", relocation="pic",
    )  # fmt: skip
    made = llvm.optimized_ir(ROW, target=target)
    assert f"<{lanes} x float>" in made
    assert f"<{24 - lanes} x float>" not in made


@pytest.mark.parametrize(("name", "is_slow"), [("znver5", True), ("skylake-avx512", False)])
def test_gathers_are_avoided_on_amd_processors(name, is_slow):
    asked = llvm._features(replace(llvm.host_target(), processor=name)).split(",")
    assert ("+prefer-no-gather" in asked) is is_slow
