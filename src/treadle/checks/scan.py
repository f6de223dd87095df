"""What can be wrong with a Scan: its counts and attributes, its state, axes and lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle.checks.arity import (
    absent_inputs,
    body_inputs,
    body_outputs,
    counted,
    node_inputs,
    node_outputs,
)
from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import Attribute, Kind, Reference

_FORWARD_AND_REVERSE = (0, 1)
_LISTS_OF_INPUTS = {8: ("directions",), 9: ("scan_input_directions", "scan_input_axes")}
_LISTS_OF_OUTPUTS = {8: (), 9: ("scan_output_directions", "scan_output_axes")}


def arity(
    version: int,
    inputs: int,
    outputs: int,
    body_params: int,
    body_results: int,
    path: str,
    absent: Sequence[int] = (),
) -> list[Finding]:
    """The counts of a Scan node and its body (spec digest, sections 1, 2.4 and 2.5).

    `inputs` counts Scan-8's sequence_lens, absent or not; `absent` are the positions of inputs left
    out as "".

        body_params == states + sliced    == inputs (Scan-8: without sequence_lens)
        body_results == states + stacked  == outputs
    """
    lengths = 1 if version < 9 else 0
    found = node_inputs("Scan", inputs, 1 + lengths, None, path)
    found += node_outputs("Scan", outputs, path)
    found += absent_inputs("Scan", absent, lengths, path)
    given = max(inputs - lengths, 0)
    found += body_inputs("body", body_params, given, "its states and one slice each", path)
    needed = "its states and stacked elements"
    return found + body_outputs("body", body_results, outputs, needed, path)


def attributes(
    version: int,
    given: Mapping[str, Attribute],
    inputs: int,
    outputs: int,
    path: str,
) -> list[Finding]:
    """The attributes of a Scan against its counts: lengths and values of directions and axes.

    `inputs` and `outputs` as in `arity`. Whether an axis is in range is known with the ranks only:
    `check` says it. A reference to an attribute of a function is not judged.
    """
    data = inputs - (1 if version < 9 else 0)
    attribute = given.get("num_scan_inputs")
    if attribute is not None and isinstance(attribute.value, Reference):
        return []
    wrong = _sliced_count(attribute, data, outputs, path)
    if wrong:
        return wrong
    assert attribute is not None
    assert isinstance(attribute.value, int)
    sliced = attribute.value
    stacked = outputs - (data - sliced)
    lists = min(version, 9)
    found = []
    for names, wanted, what in (
        (_LISTS_OF_INPUTS[lists], sliced, "scan input"),
        (_LISTS_OF_OUTPUTS[lists], stacked, "scan output"),
    ):
        for name in names:
            found += _list(given.get(name), name, wanted, what, path)
    return found


def _sliced_count(attribute: Attribute | None, data: int, outputs: int, path: str) -> list[Finding]:
    if attribute is None:
        hint = "say how many of the inputs, the last ones, are scanned"
        return [finding("CF501", path, "Scan has no attribute num_scan_inputs", hint)]
    if attribute.kind is not Kind.INT or not isinstance(attribute.value, int):
        message = f"num_scan_inputs is of kind {attribute.kind.value}, wanted int"
        return [finding("CF501", path, message, "write it as one whole number")]
    sliced = attribute.value
    if sliced < 1:
        message = f"num_scan_inputs is {sliced}, wanted at least 1"
        return [finding("CF501", path, message, "without a scanned input nothing says how often")]
    if sliced > data:
        message = f"num_scan_inputs is {sliced}, but there {_are(data, 'input')} to scan"
        return [finding("CF501", path, message, "count the inputs after the states")]
    if data - sliced > outputs:
        message = f"Scan has {counted(data - sliced, 'state')} and {counted(outputs, 'output')}"
        return [finding("CF204", path, message, "it needs one output for each state")]
    return []


def _are(count: int, noun: str) -> str:
    return f"{'is' if count == 1 else 'are'} {counted(count, noun)}"


def _list(
    attribute: Attribute | None, name: str, wanted: int, what: str, path: str
) -> list[Finding]:
    if attribute is None or isinstance(attribute.value, Reference):
        return []
    directions = name.endswith("directions")
    if attribute.kind is not Kind.INTS or not isinstance(attribute.value, tuple):
        message = f"{name} is of kind {attribute.kind.value}, wanted ints"
        return [finding("CF503" if directions else "CF502", path, message, "write it as a list")]
    found = []
    values = attribute.value
    if len(values) != wanted:
        message = f"{name} has {counted(len(values), 'entry')}, there {_are(wanted, what)}"
        hint = f"give one entry for each {what}, or leave the attribute out"
        found.append(finding("CF503" if directions else "CF502", path, message, hint))
    if directions:
        found += [
            finding("CF504", path, f"{name}[{k}] is {value!r}", "0 is forward, 1 is reverse")
            for k, value in enumerate(values)
            if value not in _FORWARD_AND_REVERSE
        ]
    return found
