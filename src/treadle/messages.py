"""Helpers for messages: articles, shapes in one notation, shortened texts."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["a_or_an", "brief", "in_our_notation", "join_words", "visible"]

_VOWEL_SOUND = re.compile(r"(?!uni(?!n)|us[eu]|ut|uint|eu|one\b)[aeiou8]", re.IGNORECASE)
_ACRONYM = re.compile(r"[A-Z][A-Z0-9]")  # spoken letter by letter: an RNN, a GRU
_SPOKEN_WITH_A_VOWEL = frozenset("AEFHILMNORSX")

_LONGEST = 400
_MOST_WORDS = 8
_EXTENT = r"(?:\d+|-1|newaxis)"
_SHAPE = re.compile(
    rf"\(((?:{_EXTENT}(?:, ?{_EXTENT})+|{_EXTENT},))\)"  # (2, 3) and (2,) of numpy
    rf"|\{{({_EXTENT}(?:, ?{_EXTENT})*,?)\}}"  # {2,3} of onnxruntime
    rf"|\[({_EXTENT}(?:, {_EXTENT})+)\]"  # [2, 3] of a list
    r"|(?<=\s)(?:\(\)|\{\})"  # () and {} of a scalar
)
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that end a line, that a terminal obeys, or that reverse what it shows."""


def a_or_an(words: str) -> str:
    """The words with their indefinite article: `an int`, `a list`, `an LSTM`, `a uint8[3]`."""
    return f"{'an' if _takes_an(words) else 'a'} {words}"


def _takes_an(words: str) -> bool:
    if _ACRONYM.match(words):
        return words[0] in _SPOKEN_WITH_A_VOWEL
    return bool(_VOWEL_SOUND.match(words))


def brief(text: str, longest: int = _LONGEST) -> str:
    """The text on one line, with the middle of a long text left out."""
    words = " ".join(text.split())
    if len(words) <= longest:
        return words
    return f"{words[: longest - longest // 4]} ... {words[-longest // 4 :]}"


def visible(text: str, kept: str = "") -> str:
    """The text with escapes for line breaks and for what a terminal obeys, but for `kept`.

    Names in models are anything, and one that holds a line break could feign a line of its own.
    """
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda found: _escaped(found[0], kept), text)


def _escaped(character: str, kept: str) -> str:
    return character if character in kept else ascii(character)[1:-1]


def in_our_notation(text: str) -> str:
    """Another library's message with shapes in our notation: (2, 3), {2,3}, [2, 3] become [2,3]."""
    return _SHAPE.sub(_our_shape, text)


def _our_shape(found: re.Match[str]) -> str:
    extents = found[1] or found[2] or found[3] or ""
    plain = re.sub(r"-1|newaxis", "?", extents.replace(" ", "").rstrip(","))
    return f"[{plain}]"


def join_words(words: Iterable[str], most: int = _MOST_WORDS) -> str:
    """`a, b, c`; with more than `most` items `... and 4 more`."""
    given = list(words)
    if len(given) <= most:
        return ", ".join(given)
    return f"{', '.join(given[:most])} ... and {len(given) - most} more"
