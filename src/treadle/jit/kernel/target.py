"""The machine that code is written for, and what surrounds the code where it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """One kind of machine, as far as the code of a kernel depends on it.

    `triple`, `processor` and `features` are LLVM's words; `code_model` and `relocation` say where
    it may expect code and data. `vector_bytes` is the width of a vector register, of which there
    are `registers`. `has_fma`: a product and a sum are one instruction with one rounding;
    `has_scale`: so is the product of a vector of floats with powers of two.
    """

    triple: str
    processor: str
    features: str
    vector_bytes: int
    registers: int
    has_fma: bool
    has_scale: bool = False
    pointer_bytes: int = 8
    code_model: str = "default"
    relocation: str = "pic"

    @property
    def largest_bytes(self) -> int:
        """More bytes than any value can have in the memory of the machine."""
        return 2**47 if self.pointer_bytes == 8 else 2**31


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a kernel runs.

    In Python: inside this process. It is called with the GIL, polls a Python object, calls
    operators without native code, finds constants by address and shares its work with treadle's
    threads.

    Free (`is_free`): in any program. It polls a function of its caller, has its constants in an
    object file under names that begin with `prefix`, calls nothing but `realloc`, `free` and
    functions of mathematics, and shares its work by a function of its caller. Such a function is
    a pair of words, its address and what it is called with; null where there is none:

        int32_t poll(void *user)                other than 0: stop
        void share(void *user, void (*part)(void *data, int64_t number, int64_t parts), void *data,
                   int64_t nanoseconds)         calls part for each number, and waits for them all
    """

    is_free: bool = False
    prefix: str = ""


PYTHON = Surroundings()
