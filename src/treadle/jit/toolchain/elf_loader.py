"""Loads object files into executable memory without LLVM.

The form is ELF-64 (System V ABI, chapters 4 and 5) for x86-64 (its AMD64 supplement, chapter 4), as
LLVM writes it for the large code model: sections that are read and run but never written, and
relocations of 64 bits. A file with anything else, or that does not fit together, is `Unlinkable`:
nothing is read beyond the file or written beyond the memory made for it, and none of it is called.

    link(data, ("kernel",))     places for the sections, addresses of symbols put into them

The memory is first written, then run, never both at once; it goes when nobody holds it any more.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from treadle.jit.toolchain import executable_memory
from treadle.jit.toolchain.executable_memory import make_executable, writable
from treadle.jit.toolchain.symbols import Unlinkable, address

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_IDENTITY = b"\x7fELF\x02\x01\x01\x00"
"""64 bits, little-endian, version 1, System V."""
_RELOCATABLE, _X86_64 = 1, 62
_SECTION = struct.Struct("<IIQQQQIIQQ")
_NULL, _PROGBITS, _SYMTAB, _STRTAB, _RELA, _UNWIND = 0, 1, 2, 3, 4, 0x70000001
_ALLOC, _EXECUTE, _MERGE, _STRINGS, _LARGE = 2, 4, 0x10, 0x20, 0x10000000
_FOREIGN = ~(_ALLOC | _EXECUTE | _MERGE | _STRINGS | _LARGE)
_SYMBOL = np.dtype("<u4, u1, u1, <u2, <u8, <u8")
_SYMBOL.names = ("name", "info", "other", "section", "value", "size")
_UNDEFINED = 0
_NO_TYPE, _SECTION_ITSELF = 0, 3
_LOCAL, _GLOBAL = 0, 1
_RELOCATION = np.dtype("<u8, <u4, <u4, <u8")
_RELOCATION.names = ("offset", "kind", "symbol", "addend")
_R_64, _R_PC64 = 1, 24
_RELOCATION_BYTES = 8


class Section(NamedTuple):
    """An entry of the table of sections."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


@dataclass(frozen=True, eq=False, slots=True)
class LoadedObject:
    """Machine code that can be called: addresses by name, good while the memory is held."""

    places: Mapping[str, int]
    memory: mmap.mmap


@dataclass(frozen=True, eq=False, slots=True)
class _Symbols:
    """The addresses of symbols by number, whether it `has` one, and the global ones by name."""

    addresses: np.ndarray
    has: np.ndarray
    named: Mapping[str, int]


def load_object(data: bytes, names: Sequence[str]) -> LoadedObject:
    """The functions of an object file by these names; raises Unlinkable."""
    sections = _sections(data)
    starts, size = _starts(sections, len(data))
    memory, base = writable(size)
    code = np.frombuffer(memory, np.uint8)
    for section, start in zip(sections, starts, strict=True):
        if start is not None:
            code[start : start + section.size] = np.frombuffer(_content(data, section), np.uint8)
    symbols = _symbols(data, sections, starts, base)
    for section in sections:
        if section.kind == _RELA:
            start = starts[_index(section.info, sections)]
            if start is not None:
                target = code[start : start + sections[section.info].size]
                _relocate(target, base + start, _table(data, section, _RELOCATION), symbols)
    missing = [name for name in names if name not in symbols.named]
    if missing:
        raise Unlinkable(f"no {missing[0]}")
    make_executable(memory, base)
    return LoadedObject({name: symbols.named[name] for name in names}, memory)


def _sections(data: bytes) -> list[Section]:
    if len(data) < _HEADER.size:
        raise Unlinkable("no header")
    (
        identity, kind, machine, _, _, _, offset, _, _, _, _, entry, count, _,
    ) = _HEADER.unpack_from(data)  # fmt: skip
    is_known = identity.startswith(_IDENTITY) and (kind, machine) == (_RELOCATABLE, _X86_64)
    if not is_known or entry != _SECTION.size:
        raise Unlinkable("no object file of x86-64")
    table = _part(data, offset, count * entry)
    sections = [Section._make(fields) for fields in _SECTION.iter_unpack(table)]
    if not sections or sections[0].kind != _NULL:
        raise Unlinkable("no sections")
    return sections


def _starts(sections: Sequence[Section], most: int) -> tuple[list[int | None], int]:
    """Where in memory each section is to begin, None for one that is not there; and all bytes."""
    starts: list[int | None] = []
    end = total = 0
    for section in sections:
        if section.kind not in (_NULL, _PROGBITS, _SYMTAB, _STRTAB, _RELA, _UNWIND):
            raise Unlinkable(f"a section of kind {section.kind:#x}")
        if not section.flags & _ALLOC or section.kind == _UNWIND:
            starts.append(None)
            continue
        alignment = section.alignment or 1
        if section.kind != _PROGBITS or section.flags & _FOREIGN:
            raise Unlinkable(f"a section of kind {section.kind:#x}, flags {section.flags:#x}")
        if alignment & (alignment - 1) or alignment > executable_memory.SIZE:
            raise Unlinkable(f"a section aligned to {alignment}")
        start = -(-end // alignment) * alignment
        end, total = start + section.size, total + section.size
        if total > most:
            raise Unlinkable("sections of more bytes than the file has")
        starts.append(start)
    return starts, end


def _symbols(
    data: bytes, sections: Sequence[Section], starts: Sequence[int | None], base: int
) -> _Symbols:
    """The symbols of the one table; unknown ones have no address, which only some may need."""
    tables = [section for section in sections if section.kind == _SYMTAB]
    if len(tables) != 1:
        raise Unlinkable(f"{len(tables)} tables of symbols")
    table = _table(data, tables[0], _SYMBOL)
    words = _content(data, sections[_index(tables[0].link, sections)])
    begins = np.array([0 if start is None else base + start for start in starts], np.uint64)
    sizes = np.array([0 if k is None else s.size for k, s in zip(starts, sections, strict=True)])
    kinds, number = table["info"] & 15, table["section"].astype(np.intp)
    has = (number < len(sections)) & (kinds <= _SECTION_ITSELF)
    number[~has] = _UNDEFINED
    has = has & (begins[number] > 0) & (table["value"] <= sizes[number].astype(np.uint64))
    addresses = begins[number] + table["value"]
    named = {}
    for k in np.flatnonzero(table["info"] >> 4 == _GLOBAL).tolist():
        name = _word(words, int(table["name"][k]))
        if table["section"][k] == _UNDEFINED and kinds[k] == _NO_TYPE:
            addresses[k], has[k] = address(name), True
        elif has[k]:
            named[name] = int(addresses[k])
    return _Symbols(addresses, has, named)


def _relocate(target: np.ndarray, base: int, entries: np.ndarray, symbols: _Symbols) -> None:
    """Put the addresses of symbols where a section wants them: the symbol's + addend, - place."""
    offsets, numbers, kinds = entries["offset"], entries["symbol"], entries["kind"]
    if not len(entries):
        return
    if len(target) < _RELOCATION_BYTES or np.any(offsets > len(target) - _RELOCATION_BYTES):
        raise Unlinkable("a relocation beyond its section")
    is_relative = kinds == _R_PC64
    if not np.all(is_relative | (kinds == _R_64)):
        raise Unlinkable(f"relocations of kinds {sorted(set(kinds.tolist()))}")
    if np.any(numbers >= len(symbols.has)) or not np.all(symbols.has[numbers]):
        raise Unlinkable("a relocation to a symbol of unknown kind")
    values = symbols.addresses[numbers] + entries["addend"]
    values -= np.where(is_relative, offsets + np.uint64(base), np.uint64(0))
    places = offsets.astype(np.intp)[:, None] + np.arange(_RELOCATION_BYTES)
    target[places] = values.astype("<u8").view(np.uint8).reshape(-1, _RELOCATION_BYTES)


def _content(data: bytes, section: Section) -> memoryview:
    return _part(data, section.offset, section.size)


def _table(data: bytes, section: Section, entry: np.dtype[Any]) -> np.ndarray:
    if section.entry != entry.itemsize or section.size % entry.itemsize:
        raise Unlinkable("a table with other entries")
    return np.frombuffer(_content(data, section), entry)


def _part(data: bytes, offset: int, size: int) -> memoryview:
    if offset + size > len(data):
        raise Unlinkable("something beyond the end of the file")
    return memoryview(data)[offset : offset + size]


def _index(number: int, sections: Sequence[Section]) -> int:
    if number >= len(sections):
        raise Unlinkable(f"section {number} of {len(sections)}")
    return number


def _word(words: memoryview, start: int) -> str:
    content, zero, _ = bytes(words[start : start + 256]).partition(b"\0")
    if not content or not zero or not content.isascii():
        raise Unlinkable("a symbol without a name")
    return content.decode()
