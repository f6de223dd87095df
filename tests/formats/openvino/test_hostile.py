"""Files that were tampered with: a model or findings with the file's name, never anything else."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from tests.formats.openvino.fixtures import DATA, NAMES
from treadle.formats import read

_NUMBERS = ("0", "1", "-1", "-2", "2", "99", "4294967296", "9" * 30, "", "x", "?", "...", "3,3")
_TYPES = ("Loop", "If", "TensorIterator", "Parameter", "Result", "Const", "Gather", "Split", "Odd")
_SLOWEST = 3


def _one_of(found: list[re.Match[str]], made: str, text: str, chance: random.Random) -> str:
    if not found:
        return text
    match = chance.choice(found)
    return text[: match.start()] + made + text[match.end() :]


def _tampered(text: str, chance: random.Random) -> str:
    match chance.randrange(6):
        case 0:
            return _one_of(list(re.finditer(r' [a-z_-]+="[^"]*"', text)), "", text, chance)
        case 1:
            value = f'="{chance.choice(_NUMBERS)}"'
            return _one_of(list(re.finditer(r'="[^"]*"', text)), value, text, chance)
        case 2:
            value = f'type="{chance.choice(_TYPES)}"'
            return _one_of(list(re.finditer(r'type="\w+"', text)), value, text, chance)
        case 3:
            lines = text.split("\n")
            del lines[(place := chance.randrange(len(lines))) : place + chance.choice((1, 2, 6))]
            return "\n".join(lines)
        case 4:
            value = f'="{chance.choice(_NUMBERS)}"'
            return _one_of(list(re.finditer(r'="-?\d+"', text)), value, text, chance)
        case _:
            place = chance.randrange(len(text))
            return text[:place] + chance.choice('<>&"x0 \0\x85') + text[place + 1 :]


@pytest.mark.parametrize("seed", range(8))
def test_a_file_that_was_tampered_with(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    path = tmp_path / "m.xml"
    for _ in range(50):
        name = chance.choice(NAMES)
        text = (DATA / f"{name}.xml").read_text()
        for _ in range(chance.choice((1, 1, 2, 4))):
            text = _tampered(text, chance)
        weights = (DATA / f"{name}.bin").read_bytes()
        cut = chance.randrange(len(weights) + 1) if chance.random() < 0.1 else len(weights)
        path.write_text(text)
        path.with_suffix(".bin").write_bytes(weights[:cut])
        started = time.process_time()
        model, findings = read(path)
        assert time.process_time() - started < _SLOWEST
        assert model is not None or any(found.blocks for found in findings)
        assert all(found.path.startswith("m.xml:") for found in findings), findings
