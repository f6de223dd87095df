"""Every pass of the package is verified: its result is a valid program."""

import inspect
from types import ModuleType

import pytest

from treadle import passes
from treadle.passes import surgery
from treadle.passes.rewrites import named

COMPOSED = {"prepare", "lower", "repair", "plain_model", "expanded"}
"""Passes that only call others, each of which is verified."""
MAKES_A_MODEL = ("Model", "tuple[Model", "Exposure")


def makers(room: ModuleType) -> set[str]:
    """The functions of a room that give a model."""
    return {
        name
        for name in room.__all__
        if inspect.isfunction(found := getattr(room, name))
        and str(found.__annotations__.get("return")).startswith(MAKES_A_MODEL)
    }


@pytest.mark.parametrize("room", [passes, surgery, named], ids=lambda room: room.__name__)
def test_every_pass_is_verified(room: ModuleType) -> None:
    assert makers(room)
    unverified = {name for name in makers(room) if not hasattr(getattr(room, name), "__wrapped__")}
    assert unverified <= COMPOSED
