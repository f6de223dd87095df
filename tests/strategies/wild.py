"""Steps on text and optionals, numbers at the edges of their types, and declarations that lie."""

from __future__ import annotations

import random
import re

import numpy as np

from tests.strategies.block import Block, Writer

EDGES = {
    "F": (np.nan, np.inf, -np.inf, -0.0, 1e-40, 2.0**24, 2.0**31, 3.4e38),
    "I": (2**24 + 1, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), -1),
}
WORDS = ("", "a", "bc", "é", "a b", "0", "-1.5")
_TRUTHS = {
    "float[3]": ("float[4]", "float[k]", "float[]", "float[3,1]"),
    "int64[3]": ("int64[2]", "int64[k]", "int64[3,3]"),
    "float[]": ("float[2]", "float[1,k]"),
    "float": ("float[1]", "double"),
    "int64": ("int64[1]", "int32"),
    "string[3]": ("string[1]", "string[]"),
}


def wild(writer: Writer, block: Block) -> str:
    """One of the steps of this file."""
    return writer.pick([text, chosen, told, optional, held, divided])(writer, block)


def text(writer: Writer, block: Block) -> str:
    """Two texts joined; a new one where none is there."""
    there = block.of("T")
    if not there or writer.chance():
        words = ", ".join(f'"{writer.pick(WORDS)}"' for _ in range(3))
        there = [*there, block.step("T", f"Constant <value = string[3] {{{words}}}> ()")]
    return block.step("T", f"StringConcat ({writer.pick(there)}, {writer.pick(there)})")


def chosen(writer: Writer, block: Block) -> str:
    """One of two texts, by a condition or by a position."""
    there = block.of("T") or [text(writer, block)]
    condition = writer.pick(block.of("B"))
    if writer.chance():
        return block.step("T", f"Where ({condition}, {writer.pick(there)}, {writer.pick(there)})")
    at = block.line(f"Constant <value = int64[3] {{{writer.pick(['2, 0, -1', '1, 1, 1'])}}}> ()")
    return block.step("T", f"Gather ({writer.pick(there)}, {at})")


def told(writer: Writer, block: Block) -> str:
    """How many elements of two texts are the same."""
    there = block.of("T") or [text(writer, block)]
    same = block.line(f"Equal ({writer.pick(there)}, {writer.pick(there)})")
    number = block.line(f"Cast <to = 7> ({same})")
    return block.step("I", f"ReduceSum <keepdims = 0> ({number})")


def optional(writer: Writer, block: Block) -> str:
    """An optional that holds a number, or none."""
    form = f"({writer.pick(block.of('F'))})" if writer.chance() else "<type = float> ()"
    return block.step("O", f"Optional {form}")


def held(writer: Writer, block: Block) -> str:
    """Whether an optional holds something."""
    there = block.of("O") or [block.step("O", f"Optional ({writer.pick(block.of('F'))})")]
    return block.step("B", f"OptionalHasElement ({writer.pick(there)})")


def divided(writer: Writer, block: Block) -> str:
    """A quotient or remainder of whole numbers; the divisor is not zero."""
    divisor = block.constant("I", writer.pick([-7, -1, 1, 3, 2**31]))
    op = writer.pick(["Div", "Mod", "Mod <fmod = 1>", "Div"])
    return block.step("I", f"{op} ({writer.pick(block.of('I'))}, {divisor})")


def lying(text: str, chance: random.Random) -> str:
    """The text with one declaration changed, of a result or of a body's parameter."""
    places = [
        m for m in re.finditer(r"(float\[3\]|int64\[3\]|float\[\]|float|int64) \w+[,)]", text)
    ]
    if not places:
        return text
    place = chance.choice(places)
    word = place.group(1)
    return text[: place.start(1)] + chance.choice(_TRUTHS[word]) + text[place.end(1) :]
