"""Identifies the processor and the LLVM version without importing LLVM.

LLVM identifies a processor by its CPUID instruction, and by the registers the system saves
(XGETBV). A few bytes of machine code read the same words here: all that LLVM 22 reads and some that
later versions may read, so that two machines with different code never look the same. The
alternative, /proc/cpuinfo of Linux, leaves out features that LLVM knows.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

from treadle.jit.toolchain.executable_memory import executable
from treadle.jit.toolchain.symbols import Unrunnable, is_possible

_CPUID = bytes.fromhex(
    "53"  # push rbx
    "89f8"  # mov eax, edi
    "89f1"  # mov ecx, esi
    "4989d0"  # mov r8, rdx
    "0fa2"  # cpuid
    "418900"  # mov [r8], eax
    "41895804"  # mov [r8 + 4], ebx
    "41894808"  # mov [r8 + 8], ecx
    "4189500c"  # mov [r8 + 12], edx
    "5b"  # pop rbx
    "c3"  # ret
)
_XGETBV = bytes.fromhex(
    "31c9"  # xor ecx, ecx
    "0f01d0"  # xgetbv
    "c3"  # ret
)
_A, _B, _C, _D = range(4)
_CPUID_REGISTERS = (
    (0, 0, (_A, _B, _C, _D)), (1, 0, (_A, _C, _D)), (7, 0, (_A, _B, _C, _D)),
    (7, 1, (_A, _B, _C, _D)), (7, 2, (_A, _B, _C, _D)), (0xD, 1, (_A,)), (0x14, 0, (_B,)),
    (0x19, 0, (_B,)), (0x1E, 1, (_A,)), (0x21, 0, (_A,)), (0x24, 0, (_A, _B)), (0x29, 0, (_B,)),
    (0x80000000, 0, (_A,)), (0x80000001, 0, (_C, _D)), (0x80000008, 0, (_B,)),
    (0x80000021, 0, (_A,)),
)  # fmt: skip
"""Leaves, subleaves, and the registers that are equal on every core; the first of a kind, 0 and
0x80000000, hold the number of leaves.
"""
_FEATURES, _SAVED, _MORE_FEATURES, _WORDS_BEFORE = 5, 7, 10, 12
"""Where some of these words are, if the system saves registers: of leaf 1, XGETBV and leaf 7."""
_EXTENDED = 0x80000000
_HAS_XGETBV = 1 << 27
_BYTE_PRODUCTS, _WIDE_VECTORS = 1 << 11, 0xE6
"""The bit of AVX-512 VNNI, and those of vectors of 64 bytes that the system saves."""
_ASKS = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)
_KEPT = ctypes.CFUNCTYPE(ctypes.c_uint32)
_LIBRARY = "libllvmlite"
_MIN_LIBRARY_BYTES = 20_000_000
"""A smaller library links LLVM dynamically: its size does not tell which LLVM is used."""
"""Libraries that contain LLVM, and the least size of one that contains it completely."""


@cache
def processor() -> str | None:
    """The CPUID words of the processor; None if they cannot be read."""
    if not is_possible():
        return None
    try:
        memory, address = executable(_CPUID + _XGETBV)
    except Unrunnable:
        return None
    with memory:
        return " ".join(
            f"{word:x}" for word in _words(_ASKS(address), _KEPT(address + len(_CPUID)))
        )


def _words(ask: Callable[[int, int, int], None], kept: Callable[[], int]) -> list[int]:
    registers = (ctypes.c_uint32 * 4)()
    found: dict[tuple[int, int], list[int]] = {}
    for leaf, part, wanted in _CPUID_REGISTERS:
        first = leaf & _EXTENDED
        if leaf <= found.get((first, 0), [first])[_A]:
            ask(leaf, part, ctypes.addressof(registers))
            found[leaf, part] = [registers[number] for number in wanted]
            if leaf == 1 and registers[_C] & _HAS_XGETBV:
                found[leaf, part].append(kept())
    return [word for words in found.values() for word in words]


@cache
def has_byte_products() -> bool:
    """Whether there is an instruction that adds products of bytes in vectors of 64 bytes."""
    words = [int(word, 16) for word in (processor() or "").split()]
    if len(words) < _WORDS_BEFORE or not words[_FEATURES] & _HAS_XGETBV:
        return False
    is_saved = words[_SAVED] & _WIDE_VECTORS == _WIDE_VECTORS
    return is_saved and bool(words[_MORE_FEATURES] & _BYTE_PRODUCTS)


@cache
def compiler() -> str | None:
    """The version of LLVM, without importing it; None if it is unknown."""
    spec = find_spec("llvmlite")
    if spec is None or spec.origin is None:
        return None
    folder = os.path.dirname(spec.origin)
    try:
        with open(os.path.join(folder, "_version.py"), "rb") as file:
            version = hashlib.sha256(file.read()).hexdigest()
        with os.scandir(os.path.join(folder, "binding")) as entries:
            libraries = [e for e in entries if e.name.startswith(_LIBRARY)]
            sizes = {each.name: each.stat().st_size for each in libraries}
    except OSError:
        return None
    if max(sizes.values(), default=0) < _MIN_LIBRARY_BYTES:
        return None
    return f"{version} {sorted(sizes.items())}"
