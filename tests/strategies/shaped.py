"""Steps whose result has a data-dependent shape: slices, lists, sequences."""

from __future__ import annotations

from tests.strategies.block import Block, Writer

ZERO = "Constant <value = int64[1] {0}> ()"


def shaped(writer: Writer, block: Block) -> str:
    """A few steps whose result's shape depends on data."""
    forms = [part, item, filled, counted, longer, found, sequence, element, joined]
    return writer.pick(forms)(writer, block)


def few(writer: Writer, block: Block, low: int = 0) -> str:
    """A list of one whole number from `low` to 4."""
    bounds = block.constant("I", low), block.constant("I", 4)
    number = block.step("I", f"Clip ({writer.pick(block.of('I'))}, {', '.join(bounds)})")
    return block.line(f"Unsqueeze ({number}, {block.line(ZERO)})")


def any_list(writer: Writer, block: Block) -> str:
    lists = block.of("L") + block.of("E")
    return writer.pick(lists) if lists else writer.pick(block.of("V"))


def part(writer: Writer, block: Block) -> str:
    """From one number to another, which may be nothing."""
    first, last = few(writer, block, -3), few(writer, block, -1)
    step = block.line(f"Constant <value = int64[1] {{{writer.pick([1, 1, 2, -1])}}}> ()")
    given = f"{any_list(writer, block)}, {first}, {last}, {block.line(ZERO)}, {step}"
    return block.step("E", f"Slice ({given})")


def item(writer: Writer, block: Block) -> str:
    """One that is there."""
    lists = block.of("L") or block.of("V")
    at = block.line(f"Constant <value = int64 {{{writer.pick([0, -1])}}}> ()")
    return block.step("F", f"Gather ({writer.pick(lists)}, {at})")


def filled(writer: Writer, block: Block) -> str:
    """A scalar some times."""
    return block.step("E", f"Expand ({writer.pick(block.of('F'))}, {few(writer, block)})")


def counted(writer: Writer, block: Block) -> str:
    """Numbers up to one."""
    most = block.line(f"Squeeze ({few(writer, block)})")
    zero, one = block.constant("I", 0), block.constant("I", 1)
    return block.step("J", f"Range ({zero}, {most}, {one})")


def longer(writer: Writer, block: Block) -> str:
    """A list with one more."""
    one = block.line(f"Unsqueeze ({writer.pick(block.of('F'))}, {block.line(ZERO)})")
    parts = [any_list(writer, block), one]
    return block.step("L", f"Concat <axis = 0> ({', '.join(parts[:: writer.pick([1, -1])])})")


def found(writer: Writer, block: Block) -> str:
    """The elements that are above zero."""
    given = any_list(writer, block)
    mask = block.line(f"Greater ({given}, {block.constant('F', 0.0)})")
    return block.step("E", f"Compress <axis = 0> ({given}, {mask})")


def sequence(writer: Writer, block: Block) -> str:
    """One, or one with an element more or less."""
    there, new = block.of("S"), writer.pick(block.of("F"))
    if not there or writer.chance():
        return block.step("S", f"SequenceConstruct ({new}, {writer.pick(block.of('F'))})")
    at = writer.pick(["", f", {block.constant('I', 0)}"])
    return block.step("S", f"SequenceInsert ({writer.pick(there)}, {new}{at})")


def element(writer: Writer, block: Block) -> str:
    """One of a sequence."""
    there = block.of("S") or [sequence(writer, block)]
    at = block.constant("I", writer.pick([0, -1]))
    return block.step("F", f"SequenceAt ({writer.pick(there)}, {at})")


def joined(writer: Writer, block: Block) -> str:
    """A sequence as a list, or how long it is."""
    given = writer.pick(block.of("S") or [sequence(writer, block)])
    if writer.chance():
        return block.step("I", f"SequenceLength ({given})")
    return block.step("L", f"ConcatFromSequence <axis = 0, new_axis = 1> ({given})")
