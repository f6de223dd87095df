"""Small loops at the edges of the loop strategies: native code gives interp's bits."""

from collections import Counter
from itertools import count

import pytest

from tools.edge_programs import FAMILIES, edge_program
from tools.random_programs import compared_edges

_OF_EACH = 2


def _seeds() -> list[int]:
    """The first seeds that draw each family of programs."""
    found, times = list[int](), Counter[str]()
    for seed in count():
        if len(found) == _OF_EACH * len(FAMILIES):
            return found
        family = edge_program(seed).family
        if times[family] < _OF_EACH:
            times[family] += 1
            found.append(seed)
    raise AssertionError("no end")


SEEDS = _seeds()


@pytest.mark.parametrize("seed", SEEDS)
def test_native_equals_interp(seed: int) -> None:
    line = compared_edges(edge_program(seed), is_eager=seed % 2 == 1)
    assert line["wrong"] == {}
    assert line["interp"] in ("answers", "KernelError"), "an index may be out of range"


def test_every_family_is_drawn() -> None:
    assert Counter(edge_program(seed).family for seed in SEEDS) == dict.fromkeys(FAMILIES, _OF_EACH)
