"""The tool that plants faults: `compare` finds each kind at its place."""

import random

import pytest

from tools.plant_faults.__main__ import events, judged, subjects, truth
from tools.plant_faults.kinds import KINDS, placed
from treadle.errors import TreadleError
from treadle.infer import infer


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_fault_is_found(kind):
    rng = random.Random(3)
    pool = [(placed(infer(model)), feeds) for _, model, feeds in subjects(None)]
    for _ in range(60):
        model, feeds = rng.choice(pool)
        planted = KINDS[kind](model, rng)
        if planted is None:
            continue
        try:
            at = truth(events(planted.model, feeds), events(model, feeds))
        except (TreadleError, ValueError):
            continue
        if at is not None:
            is_right, said = judged(planted, model, feeds, at, ["interp", "interp"])
            assert is_right, said
            return
    raise AssertionError(f"no fault of kind {kind} altered a value")
