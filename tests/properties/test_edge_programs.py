"""Small loops at the edges of the loop strategies: native code gives interp's bits."""

import pytest

from tools.edge_programs import FAMILIES, edge_program
from tools.random_programs import compared_edges

SEEDS = range(96)


@pytest.mark.parametrize("seed", SEEDS)
def test_native_equals_interp(seed: int) -> None:
    line = compared_edges(edge_program(seed), is_eager=seed % 2 == 1)
    assert line["wrong"] == {}
    assert line["interp"] in ("answers", "KernelError"), "an index may be out of range"


def test_every_family_is_drawn() -> None:
    assert {edge_program(seed).family for seed in SEEDS} == set(FAMILIES)
