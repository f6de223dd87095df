"""Loads corrupted files: each gives a model, or a LoadError with file and line.

    python -m tools.openvino.tampering --count 10000 --seed 0

Says what else came of one, with the seed that makes it again, and how long the slowest took.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import treadle
from tests.formats.openvino.fixtures import DATA, NAMES
from treadle.errors import LoadError

SLOWEST = 3.0
_NUMBERS = ("0", "1", "-1", "-2", "2", "99", "4294967296", "9" * 30, "", "x", "?", "...", "3,3")
_TYPES = ("Loop", "If", "TensorIterator", "Parameter", "Result", "Const", "Gather", "Split", "Odd",
          "ReadValue", "Assign", "Interpolate", "NonMaxSuppression", "LSTMSequence")  # fmt: skip


class Outcome(NamedTuple):
    """The outcome for one file ("model", "refused" or the fault), and the seconds it took."""

    word: str
    seconds: float


def attempt(seed: str, folder: Path) -> Outcome:
    """Load one file that was tampered with, the same one for the same seed."""
    chance = random.Random(seed)
    path = folder / "m.xml"
    name = chance.choice(NAMES)
    text = (DATA / f"{name}.xml").read_text()
    path.write_text(tampered(text, chance))
    path.with_suffix(".bin").write_bytes(_weights(name, chance))
    started = time.process_time()
    word = _loaded(path)
    seconds = time.process_time() - started
    return Outcome(word if seconds < SLOWEST else f"took {seconds:.1f} seconds", seconds)


def tampered(text: str, chance: random.Random) -> str:
    """The .xml with a few things changed, removed or repeated."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        text = chance.choice(_WAYS)(text, chance)
    return text


def _loaded(path: Path) -> str:
    try:
        treadle.load(path)
    except LoadError as error:
        vague = [found for found in error.findings if not found.path.startswith("m.xml:")]
        return f"says no line: {vague[0]}" if vague or not error.findings else "refused"
    except Exception as error:  # noqa: BLE001 - that nothing else is raised is what is tried
        return f"raised {type(error).__name__}: {error}"
    return "model"


def _weights(name: str, chance: random.Random) -> bytes:
    """The .bin: mostly as it was, else shorter, longer, or with other bytes."""
    weights = bytearray((DATA / f"{name}.bin").read_bytes())
    match chance.randrange(10):
        case 0:
            return bytes(weights[: chance.randrange(len(weights) + 1)])
        case 1:
            return bytes(weights) + chance.randbytes(chance.randrange(1, 9))
        case 2 | 3 if weights:
            for _ in range(chance.choice((1, 4, 16))):
                weights[chance.randrange(len(weights))] = chance.randrange(256)
    return bytes(weights)


def _one_of(pattern: str, made: str, text: str, chance: random.Random) -> str:
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    match = chance.choice(found)
    return text[: match.start()] + made + text[match.end() :]


def _without_attribute(text: str, chance: random.Random) -> str:
    return _one_of(r' [a-z_-]+="[^"]*"', "", text, chance)


def _with_value(text: str, chance: random.Random) -> str:
    return _one_of(r'="[^"]*"', f'="{chance.choice(_NUMBERS)}"', text, chance)


def _with_type(text: str, chance: random.Random) -> str:
    return _one_of(r'type="\w+"', f'type="{chance.choice(_TYPES)}"', text, chance)


def _with_number(text: str, chance: random.Random) -> str:
    return _one_of(r'="-?\d+"', f'="{chance.choice(_NUMBERS)}"', text, chance)


def _without_lines(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    place = chance.randrange(len(lines))
    del lines[place : place + chance.choice((1, 2, 6))]
    return "\n".join(lines)


def _with_lines_twice(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[other:other] = lines[place : place + chance.choice((1, 2, 6, 20))]
    return "\n".join(lines)


def _with_character(text: str, chance: random.Random) -> str:
    if not text:
        return text
    place = chance.randrange(len(text))
    return text[:place] + chance.choice('<>&"x0 \0\x85') + text[place + 1 :]


_WAYS: tuple[Callable[[str, random.Random], str], ...] = (
    _without_attribute,
    _with_value,
    _with_type,
    _with_number,
    _without_lines,
    _with_lines_twice,
    _with_character,
)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    words: Counter[str] = Counter()
    slowest = Outcome("", 0.0)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.count):
            outcome = attempt(f"{asked.seed}-{number}", Path(folder))
            words[outcome.word if outcome.word in ("model", "refused") else "wrong"] += 1
            slowest = max(slowest, outcome, key=lambda each: each.seconds)
            if outcome.word not in ("model", "refused"):
                print(f"{asked.seed}-{number}: {outcome.word}")
    print(f"{asked.count} files: {dict(words)}; the slowest took {slowest.seconds:.2f} s")
    return int(words["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
