"""Line tables of DWARF 4, written by hand, and their lines by address."""

import struct

import numpy as np

from treadle.jit.toolchain.line_table import LineTable

BASE, SPAN, FIRST = -5, 14, 13
LENGTHS = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])


def table(program: bytes) -> bytes:
    rest = struct.pack("<BBBbBB", 1, 1, 1, BASE, SPAN, FIRST) + LENGTHS + b"\0k\0\0\0\0\0"
    body = struct.pack("<HI", 4, len(rest)) + rest + program
    return struct.pack("<I", len(body)) + body


def special(line: int, address: int) -> bytes:
    return bytes([line - BASE + SPAN * address + FIRST])


def set_address(address: int) -> bytes:
    return b"\0\x09\x02" + address.to_bytes(8, "little")


END = b"\0\x01\x01"


def test_addresses_have_the_lines_that_the_program_says() -> None:
    steps = set_address(0x1000) + b"\x01" + special(2, 4) + b"\x03\x7d\x02\x80\x01\x01"
    found = LineTable.read(table(steps + special(300 - 299, 0) + b"\x02\x08" + END))
    asked = np.array([0xFFF, 0x1000, 0x1003, 0x1004, 0x1083, 0x1084, 0x108B, 0x108C])
    assert found.of(asked).tolist() == [0, 1, 1, 3, 3, 1, 1, 0]


def test_functions_in_any_order_and_gaps_between_them() -> None:
    two = set_address(0x2000) + b"\x05\x07\x01\x02\x10" + END
    one = set_address(0x1000) + b"\x03\x08\x01\x08\x09\x02\x00" + END
    found = LineTable.read(table(two) + table(one))
    advanced = 0x1000 + (255 - FIRST) // SPAN + 2
    asked = np.array([[0x2000, 0x200F, 0x2010], [0x1000, advanced - 1, advanced]])
    assert found.of(asked).tolist() == [[1, 1, 0], [9, 9, 0]]


def test_no_table_has_no_lines() -> None:
    assert LineTable.read(b"").of(np.array([1, 2])).tolist() == [0, 0]
