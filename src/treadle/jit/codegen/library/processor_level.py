"""Selects the best of several target processors that the machine supports, by CPUID.

int32 level():
    known = @level                        the answer plus 1; 0 means not asked yet
    if known: return known - 1
    for each processor but the first:     best = its number, as long as the machine has its features
    @level = best + 1
    return best

The word @level holds only this answer, which is the same in every thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.library.interface import begin
from treadle.jit.codegen.llvm_types import I32, POINTER
from treadle.jit.kernel.target import Target

__all__ = ["emit_instructions", "emit_level"]

_AX, _BX, _CX, _DX = range(4)
_BASIC, _EXTENDED, _AMD = (1, 0), (7, 0), (0x80000001, 0)
"""The questions: the inputs of CPUID in EAX and ECX."""


@dataclass(frozen=True, slots=True)
class _Bits:
    """Bits of a CPUID answer, in one of its four registers."""

    question: tuple[int, int]
    register: int
    bits: tuple[int, ...]


_OSXSAVE = _Bits(_BASIC, _CX, (27,))
_V3 = (
    _Bits(_BASIC, _CX, (12, 22, 28, 29)),  # FMA, MOVBE, AVX, F16C
    _Bits(_EXTENDED, _BX, (3, 5, 8)),  # BMI1, AVX2, BMI2
    _Bits(_AMD, _CX, (5,)),  # LZCNT
)
_V4 = (*_V3, _Bits(_EXTENDED, _BX, (16, 17, 28, 30, 31)))  # AVX512 F, DQ, CD, BW, VL
_NEEDS: Mapping[str, tuple[tuple[_Bits, ...], int]] = {
    "x86-64-v3": (_V3, 0x06),
    "x86-64-v4": (_V4, 0xE6),
}
"""By LLVM's name: the required CPUID bits, and the registers the system must save (XCR0)."""

_CONVENTION = "x86_64_sysvcc"
_CPUID = bytes.fromhex(
    "53"  # push rbx
    "4989d0"  # mov r8, rdx
    "89f8 89f1"  # mov eax, edi; mov ecx, esi
    "0fa2"  # cpuid
    "418900 41895804 41894808 4189500c"  # mov [r8], eax; ebx, ecx, edx behind it
    "5b c3"  # pop rbx; ret
)
_XGETBV = bytes.fromhex("31c9 0f01d0 c3")  # xor ecx, ecx; xgetbv; ret


def emit_instructions(prefix: str) -> str:
    """A module of two functions of one instruction each, for which LLVM has no intrinsic.

    void cpuid(int32_t eax, int32_t ecx, int32_t answer[4])        int32_t xgetbv(void)

    They are machine code as bytes, since LLVM's assembler is only loaded for the host. They have a
    module of their own, or LLVM would optimise by the empty bodies after the bytes.
    """
    functions = ((f"{prefix}_cpuid", "void", "i32, i32, ptr", _CPUID),
                 (f"{prefix}_xgetbv", "i32", "", _XGETBV))  # fmt: skip
    return "\n".join(
        f'define hidden {_CONVENTION} {result} @"{name}"({types})\n  prologue [{len(code)} x i8]'
        f' c"{"".join(f"{chr(92)}{byte:02x}" for byte in code)}"\n{{\n  unreachable\n}}'
        for name, result, types, code in functions
    )


def emit_level(module: llvm.Module, prefix: str, processors: Sequence[str], target: Target) -> Any:
    """Emit the function that returns the number of the best of these processors, least first."""
    w = begin(module, ".level", I32, [], target)
    ask = _Asking(w, prefix)
    b = w.builder
    word = llvm.GlobalVariable(module, I32, ".known_level")
    word.linkage, word.initializer = "internal", llvm.Constant(I32, 0)
    known = b.load_atomic(word, "monotonic", 4, typ=I32)
    with b.if_then(b.icmp_signed("!=", known, llvm.Constant(I32, 0))):
        b.ret(b.sub(known, llvm.Constant(I32, 1)))
    best = w.variable(I32, llvm.Constant(I32, 0))
    most = ask.cpuid((0, 0), _AX)
    has_question = b.icmp_unsigned(">=", most, llvm.Constant(I32, _EXTENDED[0]))
    with b.if_then(has_question), b.if_then(ask.holds(_OSXSAVE)):
        _look(ask, processors, best)
    found = b.load(best, typ=I32)
    b.store_atomic(b.add(found, llvm.Constant(I32, 1)), word, "monotonic", 4)
    b.ret(found)
    w.close_entry()
    return w.function


def _look(ask: _Asking, processors: Sequence[str], best: Any) -> None:
    """Determine the best processor and store its number."""
    b = ask.builder.builder
    kept = ask.xgetbv()
    for number, processor in list(enumerate(processors))[1:]:
        needs, registers = _NEEDS[processor]
        holds = ask.has_all(kept, registers)
        for condition in map(ask.holds, needs):
            holds = b.and_(holds, condition)
        b.store(b.select(holds, llvm.Constant(I32, number), b.load(best, typ=I32)), best)


class _Asking:
    """Emits CPUID queries into a function."""

    def __init__(self, builder: FunctionBuilder, prefix: str) -> None:
        self.builder = builder
        self._answer = builder.variable(I32, count=4)
        kinds = {
            "cpuid": llvm.FunctionType(llvm.VoidType(), [I32, I32, POINTER]),
            "xgetbv": llvm.FunctionType(I32, []),
        }
        self._functions = {
            word: llvm.Function(builder.module, kind, f"{prefix}_{word}")
            for word, kind in kinds.items()
        }
        for function in self._functions.values():
            function.calling_convention = _CONVENTION

    def cpuid(self, question: tuple[int, int], register: int) -> Any:
        """One register of a CPUID answer."""
        b = self.builder.builder
        asked = [llvm.Constant(I32, number) for number in question]
        b.call(self._functions["cpuid"], [*asked, self._answer], cconv=_CONVENTION)
        address = b.gep(self._answer, [llvm.Constant(I32, register)], source_etype=I32)
        return b.load(address, typ=I32)

    def xgetbv(self) -> Any:
        """The registers that the system saves."""
        return self.builder.builder.call(self._functions["xgetbv"], [], cconv=_CONVENTION)

    def holds(self, wanted: _Bits) -> Any:
        """Whether the answer has these bits set."""
        found = self.cpuid(wanted.question, wanted.register)
        return self.has_all(found, sum(1 << bit for bit in wanted.bits))

    def has_all(self, word: Any, mask: int) -> Any:
        """Whether a word has all bits of a mask set."""
        b, bits = self.builder.builder, llvm.Constant(I32, mask)
        return b.icmp_unsigned("==", b.and_(word, bits), bits)
