"""Keeps the original path of each step while a rewrite moves it.

A rewrite works in rounds, and each round moves steps. `mark` stores the path of every step in its
metadata; `unmark` removes it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fnmatch import fnmatchcase

from treadle.errors import InputError, did_you_mean
from treadle.ir import Block, Info, Loop, Step, map_bodies, step_path

_MARK = "treadle.path"


def mark(block: Block, path: str = "main") -> Block:
    """Store the current path of every step of the block and its bodies."""

    def marked(step: Step, position: int) -> Step:
        here = step_path(path, step, position)
        inner = map_bodies(step, lambda name, body: mark(body, f"{here}.{name}"))
        return replace(inner, info=_noted(inner.info, here))

    steps = tuple(marked(step, position) for position, step in enumerate(block.steps))
    return replace(block, steps=steps)


def _noted(info: Info, path: str) -> Info:
    return replace(info, path="", metadata=(*info.metadata, (_MARK, path)))


def marked_path(step: Step) -> str:
    """The stored path of the step; "" for a step that a rewrite made."""
    return next((text for key, text in step.info.metadata if key == _MARK), "")


def unmark(block: Block) -> Block:
    """Remove the stored paths from the block and its bodies."""

    def plain(step: Step) -> Step:
        inner = map_bodies(step, lambda _, body: unmark(body))
        kept = tuple(entry for entry in inner.info.metadata if entry[0] != _MARK)
        if len(kept) == len(inner.info.metadata):
            return inner
        return replace(inner, info=replace(inner.info, metadata=kept))

    return replace(block, steps=tuple(map(plain, block.steps)))


def loop_paths(block: Block) -> list[str]:
    """The stored paths of every loop of the block and its bodies, outer ones first."""
    found: list[str] = []

    def look(inner: Block) -> Block:
        for step in inner.steps:
            if isinstance(step, Loop):
                found.append(marked_path(step))
            map_bodies(step, lambda _, body: look(body))
        return inner

    look(block)
    return found


def chosen(paths: Collection[str], globs: Collection[str], what: str) -> set[str]:
    """The paths that match a glob; raises InputError for a glob other than * without a match."""
    found: set[str] = set()
    for glob in globs:
        matching = {path for path in paths if fnmatchcase(path, glob)}
        if not matching and glob != "*":
            hint = did_you_mean(glob, sorted(paths))
            raise InputError(f"the model has no {what} at {glob!r}, {hint}")
        found |= matching
    return found
