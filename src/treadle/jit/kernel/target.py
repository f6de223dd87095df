"""The machine that code is compiled for, and the environment it runs in."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST_BYTES = 2**47
"""More bytes than any value can have in memory."""
_STACK_BYTES = 16
"""The alignment of the stack between functions of x86-64."""


@dataclass(frozen=True, slots=True)
class Target:
    """The properties of a machine that a kernel's code depends on.

    `triple`, `processor` and `features` are LLVM's names; `code_model` and `relocation` determine
    where code and data may be. `vector_bytes` is the width of a vector register, of which there are
    `registers`. `has_fma`: there is a fused multiply-add; `has_scale`: there is an instruction that
    multiplies a vector of floats by powers of two; `has_half`: there are some that convert float16;
    `has_byte_products`: there is one that adds products of bytes in 32 bits.
    """

    triple: str
    processor: str
    features: str
    vector_bytes: int
    registers: int
    has_fma: bool
    has_scale: bool = False
    has_half: bool = False
    has_byte_products: bool = False
    pointer_bytes: int = 8
    code_model: str = "default"
    relocation: str = "pic"

    @property
    def has_unaligned_vectors(self) -> bool:
        """Whether vectors are wider than a caller aligns the stack."""
        return self.vector_bytes > _STACK_BYTES and self.triple.startswith("x86_64")

    @property
    def largest_bytes(self) -> int:
        """More bytes than any value can have in the machine's memory."""
        return LARGEST_BYTES if self.pointer_bytes == 8 else 2**31


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The environment of a kernel.

    In Python: inside this process. It is called with the GIL, polls a Python object, calls
    operators without native code, finds constants by address and shares its work with treadle's
    threads.

    Free (`is_free`): in any program. It polls a function of its caller, has its constants in an
    object file under names that begin with `prefix`, calls nothing but `realloc`, `free` and math
    functions, and shares its work by a function of its caller. Such a function is a pair of words,
    its address and what it is called with; null where there is none:

        int32_t poll(void *user)                other than 0: stop
        void share(void *user, void (*part)(void *data, int64_t number, int64_t parts), void *data,
                   int64_t nanoseconds)         calls part for each number, and waits for them all
    """

    is_free: bool = False
    prefix: str = ""


PYTHON = Surroundings()
