"""Reads line tables: which line each address of machine code belongs to.

The form is `.debug_line` of DWARF 4 (section 6.2 of the standard), as LLVM writes it: a program for
a small machine with an address and a line, which appends rows to a table.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

_HEADER = struct.Struct("<IHIBBBbBB")
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2
_MOST_OPCODE = 255


@dataclass(frozen=True, eq=False, slots=True)
class LineTable:
    """Rows in order of address: from `addresses[k]` on, the line is `lines[k]`; 0 is none."""

    addresses: np.ndarray
    lines: np.ndarray

    @classmethod
    def read(cls, data: bytes) -> LineTable:
        """The table of the content of `.debug_line`."""
        rows = sorted(_rows(data), key=lambda row: row[0])
        columns = np.array(rows, np.int64).reshape(-1, 2)
        return cls(columns[:, 0].copy(), columns[:, 1].copy())

    def of(self, addresses: np.ndarray) -> np.ndarray:
        """The line of each address, int64 of the same shape; 0 outside the table."""
        if not len(self.addresses):
            return np.zeros(addresses.shape, np.int64)
        found = np.searchsorted(self.addresses, addresses, side="right") - 1
        return np.where(found < 0, 0, self.lines[found])


@dataclass(slots=True)
class _Machine:
    """The state of the program; `at` is the position in its bytes."""

    data: bytes
    at: int
    address: int = 0
    line: int = 1
    rows: list[tuple[int, int]] = field(default_factory=list)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """An unsigned number, seven bits to a byte (ULEB128)."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self) -> int:
        """A signed number (SLEB128)."""
        start = self.at
        value, bits = self.number(), 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def row(self, line: int | None = None) -> None:
        self.rows.append((self.address, self.line if line is None else line))


def _rows(data: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    while start + _HEADER.size <= len(data):
        length, version, header, step, _, _, base, span, first = _HEADER.unpack_from(data, start)
        end = start + 4 + length
        if version == 4:
            lengths = data[start + _HEADER.size : start + _HEADER.size + first - 1]
            machine = _Machine(data[:end], start + 10 + header)
            while machine.at < end:
                _run(machine, machine.byte(), lengths, (step, base, span))
            yield from machine.rows
        start = end


def _run(machine: _Machine, code: int, lengths: bytes, form: tuple[int, int, int]) -> None:
    """Run one instruction; `form`: unit of addresses, least change of line, their span."""
    step, base, span = form
    first = len(lengths) + 1
    if code >= first:
        machine.address += (code - first) // span * step
        machine.line += base + (code - first) % span
        machine.row()
    elif code == 0:
        _run_extended(machine)
    elif code == _COPY:
        machine.row()
    elif code == _ADVANCE_PC:
        machine.address += machine.number() * step
    elif code == _ADVANCE_LINE:
        machine.line += machine.signed()
    elif code == _CONST_ADD_PC:
        machine.address += (_MOST_OPCODE - first) // span * step
    elif code == _FIXED_ADVANCE_PC:
        machine.address += int.from_bytes(machine.data[machine.at : machine.at + 2], "little")
        machine.at += 2
    else:
        for _ in range(lengths[code - 1]):
            machine.number()


def _run_extended(machine: _Machine) -> None:
    length = machine.number()
    end, code = machine.at + length, machine.byte()
    if code == _SET_ADDRESS:
        machine.address = int.from_bytes(machine.data[machine.at : end], "little")
    elif code == _END_SEQUENCE:
        machine.row(0)
        machine.address, machine.line = 0, 1
    machine.at = end
