"""Writes object files as one archive, `lib.a`, with the symbol index that linkers need.

The format is that of System V, which the linkers of GNU, LLVM and Microsoft read; for macOS it is
that of BSD. It contains no times, owners or paths, so equal files make equal archives.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from treadle.jit import Member

__all__ = ["archive"]

_MAGIC = b"!<arch>\n"


def archive(members: Sequence[Member], form: str) -> bytes:
    """The archive of object files in the format `elf`, `coff`, `wasm` or `macho`."""
    return _bsd(members) if form == "macho" else _system_v(members)


def _entry(name: str, data: bytes, pad: bytes = b"\n") -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n".encode()
    return head + data + pad * (len(data) % 2)


def _system_v(members: Sequence[Member]) -> bytes:
    """The System V format: `/` holds the symbols with the offsets of their members.

    `//` holds names.
    """
    names, at = b"", []
    for member in members:
        at.append(len(names))
        names += member.name.encode() + b"/\n"
    entries = [_entry(f"/{k}", member.data) for k, member in zip(at, members, strict=True)]
    symbols = [name for member in members for name in member.symbols]
    text = b"".join(name.encode() + b"\0" for name in symbols)
    table = _entry("//", names)
    index_size = len(_entry("/", bytes(4 + 4 * len(symbols)) + text))
    first = len(_MAGIC) + index_size + len(table)
    offsets = []
    for member, entry in zip(members, entries, strict=True):
        offsets += [first] * len(member.symbols)
        first += len(entry)
    index = struct.pack(f">{1 + len(offsets)}I", len(offsets), *offsets) + text
    return _MAGIC + _entry("/", index) + table + b"".join(entries)


def _bsd(members: Sequence[Member]) -> bytes:
    """The BSD format: `__.SYMDEF` holds the symbols; a member begins with its padded name."""
    entries = [_named(member) for member in members]
    symbols = [f"_{name}" for member in members for name in member.symbols]
    text = b"".join(name.encode() + b"\0" for name in symbols)
    text += bytes(-len(text) % 8)
    size = 8 * len(symbols)
    first = len(_MAGIC) + len(_bsd_entry("__.SYMDEF", bytes(8 + size + len(text))))
    pairs, place = [], 0
    for member, entry in zip(members, entries, strict=True):
        for name in member.symbols:
            pairs += [place, first]
            place += len(name) + 2
        first += len(entry)
    index = struct.pack(f"<I{len(pairs)}I", size, *pairs) + struct.pack("<I", len(text)) + text
    return _MAGIC + _bsd_entry("__.SYMDEF", index) + b"".join(entries)


def _named(member: Member) -> bytes:
    return _bsd_entry(member.name, member.data + bytes(-len(member.data) % 8))


def _bsd_entry(name: str, data: bytes) -> bytes:
    own = name.encode()
    own += bytes((4 - len(own)) % 8)  # aligns the data to eight bytes
    return _entry(f"#1/{len(own)}", own + data)
