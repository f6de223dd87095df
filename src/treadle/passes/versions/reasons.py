"""Operators without a form in older opsets, by the version that introduced them, with reasons."""

from __future__ import annotations

from collections.abc import Mapping

_LISTS = "the opset has no sequences"
_ABSENT = "the opset has no optionals"

NO_FORM: Mapping[tuple[str, int], str] = {
    ("ConcatFromSequence", 11): _LISTS,
    ("ImageDecoder", 20): "no older operator decodes images",
    ("Optional", 15): _ABSENT,
    ("OptionalGetElement", 15): _ABSENT,
    ("OptionalHasElement", 15): _ABSENT,
    ("RegexFullMatch", 20): "no older operator matches patterns",
    ("SequenceAt", 11): _LISTS,
    ("SequenceConstruct", 11): _LISTS,
    ("SequenceEmpty", 11): _LISTS,
    ("SequenceErase", 11): _LISTS,
    ("SequenceInsert", 11): _LISTS,
    ("SequenceLength", 11): _LISTS,
    ("SplitToSequence", 11): _LISTS,
    ("StringConcat", 20): "no older operator joins strings",
    ("StringSplit", 20): "no older operator splits strings",
}


def why_not(op: str, version: int) -> str:
    """Why an opset before this version, or before the operator's first one, cannot express it."""
    first = next((v for name, v in NO_FORM if name == op), version)
    return (
        NO_FORM.get((op, version))
        or NO_FORM.get((op, first))
        or "no older operators can express it"
    )
