"""Records of 64-bit words in LLVM: loads and stores by a word's name, plain or atomic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.threads.words import WORKER_WORDS

WORDS = I64.as_pointer()
"""The type of a record's address; llvmlite has atomic stores for typed pointers only."""


@dataclass(frozen=True, eq=False, slots=True)
class Record:
    """The words at an address, see `jit/threads/words.py`."""

    builder: FunctionBuilder
    address: Any

    def at(self, word: Any) -> Any:
        """The address of a word, by its name or by a number in LLVM."""
        index = self.builder.index(word.value if isinstance(word, IntEnum) else word)
        return self.builder.builder.gep(self.address, [index], source_etype=I64, inbounds=True)

    def load(self, word: Any, type_: Any = I64) -> Any:
        """The word, a number unless a type is given."""
        return self.builder.builder.load(self.at(word), typ=type_)

    def store_pointer(self, word: Any, value: Any) -> None:
        """Write an address into a word."""
        self.store(word, self.builder.builder.ptrtoint(value, I64))

    def store(self, word: Any, value: Any) -> None:
        """Write a word."""
        self.builder.builder.store(self.builder.index(value), self.at(word))

    def load_atomic(self, word: Any, ordering: str) -> Any:
        """The word, which other threads write."""
        return self.builder.builder.load_atomic(self.at(word), ordering, 8, typ=I64)

    def store_atomic(self, word: Any, value: Any, ordering: str) -> None:
        """Write a word that other threads read."""
        self.builder.builder.store_atomic(self.builder.index(value), self.at(word), ordering, 8)

    def replace(self, word: Any, old: IntEnum, new: IntEnum) -> Any:
        """Whether this thread has changed a word from one number to another."""
        w = self.builder
        numbers = w.index(old.value), w.index(new.value)
        pair = w.builder.cmpxchg(self.at(word), *numbers, "acq_rel", "monotonic")
        return w.builder.extract_value(pair, 1)

    def add(self, word: Any, value: Any) -> Any:
        """Add to a word; returns the sum."""
        total = self.builder.builder.add(self.load(word), self.builder.index(value))
        self.store(word, total)
        return total


def worker_of(pool: Record, number: Any) -> Record:
    """The words of a worker; the first one is number 1."""
    offset = pool.builder.builder.mul(number, pool.builder.index(WORKER_WORDS))
    return Record(pool.builder, pool.at(offset))
