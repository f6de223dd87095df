"""Arguments of the public functions: checked where they come in, and called by their kind."""

from __future__ import annotations

import re

__all__ = ["a_or_an"]

_VOWEL_SOUND = re.compile(r"(?!uni(?!n)|us[eu]|ut|uint|eu|one\b)[aeiou8]", re.IGNORECASE)
_ACRONYM = re.compile(r"[A-Z][A-Z0-9]")  # spoken letter by letter: an RNN, a GRU
_SPOKEN_WITH_A_VOWEL = frozenset("AEFHILMNORSX")


def a_or_an(words: str) -> str:
    """The words with the article they want: `an int`, `a list`, `an LSTM`, `a uint8[3]`."""
    return f"{'an' if _takes_an(words) else 'a'} {words}"


def _takes_an(words: str) -> bool:
    if _ACRONYM.match(words):
        return words[0] in _SPOKEN_WITH_A_VOWEL
    return bool(_VOWEL_SOUND.match(words))
