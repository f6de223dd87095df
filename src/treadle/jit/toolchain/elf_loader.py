"""Loads object files into executable memory without LLVM.

The form is ELF-64 (System V ABI, chapters 4 and 5) for x86-64 (its AMD64 supplement, chapter 4), as
LLVM writes it for the large code model: read-only and executable sections, and 64-bit relocations.
An inconsistent file, or one with anything else, is `Unlinkable`: nothing is read beyond the file or
written beyond the allocated memory, and none of it is called.

    link(data, ("kernel",))     allocates the sections, and relocates them

The memory is first written, then executable, never both at once; it is freed with its last
reference.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
_SYMBOL = struct.Struct("<IBBHQQ")
_UNDEFINED = 0
_NO_TYPE, _SECTION_ITSELF = 0, 3
_LOCAL, _GLOBAL = 0, 1
_RELOCATION = struct.Struct("<QIIQ")
_R_64, _R_PC64 = 1, 24
_WORD = struct.Struct("<Q")
_LINES = ".debug_line"
_WORD_BITS = 2**64 - 1


class Section(NamedTuple):
    """An entry of the section table."""

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
    """Loaded machine code: addresses by name, valid while the memory is referenced.

    `lines` is the content of `.debug_line`, with the addresses of this memory; empty without one.
    """

    places: Mapping[str, int]
    memory: mmap.mmap
    lines: bytes = b""


@dataclass(frozen=True, eq=False, slots=True)
class _Symbols:
    """The addresses of symbols by number, None without one, and of global ones by name."""

    addresses: Sequence[int | None]
    named: Mapping[str, int]


def load_object(data: bytes, names: Sequence[str]) -> LoadedObject:
    """Load these functions of an object file; raises Unlinkable."""
    sections = _sections(data)
    starts, size = _starts(sections, len(data))
    memory, base = writable(size)
    for section, start in zip(sections, starts, strict=True):
        if start is not None:
            memory[start : start + section.size] = _content(data, section)
    symbols = _symbols(data, sections, starts, base)
    for section in sections:
        if section.kind == _RELA:
            target = _index(section.info, sections)
            start = starts[target]
            if start is not None:
                section_memory = _Place(memory, base, start, sections[target].size)
                _relocate(section_memory, _table(data, section, _RELOCATION), symbols)
    missing = [name for name in names if name not in symbols.named]
    if missing:
        raise Unlinkable(f"no {missing[0]}")
    make_executable(memory, base)
    lines = _line_table(data, sections, symbols)
    return LoadedObject({name: symbols.named[name] for name in names}, memory, lines)


def _line_table(data: bytes, sections: Sequence[Section], symbols: _Symbols) -> bytes:
    """The section `.debug_line` with its relocations applied, which are absolute addresses."""
    number = struct.unpack_from("<H", data, _HEADER.size - 2)[0]
    names = _content(data, sections[_index(number, sections)])
    for own, section in enumerate(sections):
        if section.flags or section.kind != _PROGBITS or _word(names, section.name) != _LINES:
            continue
        content = bytearray(_content(data, section))
        for each in sections:
            if each.kind == _RELA and each.info == own:
                target = _Place(content, 0, 0, section.size)
                _relocate(target, _table(data, each, _RELOCATION), symbols)
        return bytes(content)
    return b""


def _sections(data: bytes) -> list[Section]:
    if len(data) < _HEADER.size:
        raise Unlinkable("no header")
    (
        identity, kind, machine, _, _, _, offset, _, _, _, _, entry, count, _,
    ) = _HEADER.unpack_from(data)  # fmt: skip
    is_known = identity.startswith(_IDENTITY) and (kind, machine) == (_RELOCATABLE, _X86_64)
    if not is_known or entry != _SECTION.size:
        raise Unlinkable("not an object file for x86-64")
    table = _part(data, offset, count * entry)
    sections = [Section._make(fields) for fields in _SECTION.iter_unpack(table)]
    if not sections or sections[0].kind != _NULL:
        raise Unlinkable("no sections")
    return sections


def _starts(sections: Sequence[Section], most: int) -> tuple[list[int | None], int]:
    """The offset of each section in memory, None for one that is not loaded; and the total size."""
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
    """The symbols of the table; unknown ones have no address, which is an error only if used."""
    tables = [section for section in sections if section.kind == _SYMTAB]
    if len(tables) != 1:
        raise Unlinkable(f"{len(tables)} tables of symbols")
    words = _content(data, sections[_index(tables[0].link, sections)])
    addresses: list[int | None] = []
    named = {}
    for name, info, _, number, value, _ in _table(data, tables[0], _SYMBOL):
        kind, found = info & 15, None
        if number < len(sections) and kind <= _SECTION_ITSELF:
            start = starts[number]
            if start is not None and value <= sections[number].size:
                found = base + start + value
        if info >> 4 == _GLOBAL:
            if number == _UNDEFINED and kind == _NO_TYPE:
                found = address(_word(words, name))
            elif found is not None:
                named[_word(words, name)] = found
        addresses.append(found)
    return _Symbols(addresses, named)


class _Place(NamedTuple):
    """A section in memory: its size and offset, in memory that begins at `base`."""

    memory: mmap.mmap | bytearray
    base: int
    start: int
    size: int


def _relocate(target: _Place, entries: Iterable[tuple[int, ...]], symbols: _Symbols) -> None:
    """Apply a section's relocations: symbol + addend, minus the position for relative ones."""
    known = len(symbols.addresses)
    for offset, kind, number, addend in entries:
        if offset > target.size - _WORD.size:
            raise Unlinkable("a relocation beyond its section")
        found = symbols.addresses[number] if number < known else None
        if found is None:
            raise Unlinkable("a relocation to a symbol of unknown kind")
        value = found + addend
        if kind == _R_PC64:
            value -= target.base + target.start + offset
        elif kind != _R_64:
            raise Unlinkable(f"a relocation of kind {kind}")
        _WORD.pack_into(target.memory, target.start + offset, value & _WORD_BITS)


def _content(data: bytes, section: Section) -> memoryview:
    return _part(data, section.offset, section.size)


def _table(data: bytes, section: Section, entry: struct.Struct) -> Iterable[tuple[int, ...]]:
    if section.entry != entry.size or section.size % entry.size:
        raise Unlinkable("a table with other entries")
    return entry.iter_unpack(_content(data, section))


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
