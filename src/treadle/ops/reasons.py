"""Translates numpy's and onnx's error texts into terms of the model."""

from __future__ import annotations

import re

from treadle.messages import brief, in_our_notation

_SAID_OTHERWISE = tuple(
    (re.compile(numpys), ours)
    for numpys, ours in (
        (
            r"matmul: Input operand 1 has a mismatch in its core dimension 0,.*"
            r"\(size (\d+) is different from (\d+)\)",
            r"the inner extents of the product differ, \2 and \1",
        ),
        (
            r"operands could not be broadcast together with (?:remapped )?shapes"
            r" (?:\[original->remapped\]: )?",
            "the shapes do not broadcast: ",
        ),
        (
            r"all the input array dimensions except for the concatenation axis must match exactly,"
            r" but along dimension (\d+), the array at index (\d+) has size (\d+) and the array at"
            r" index (\d+) has size (\d+)",
            r"axis \1 is \3 long in one operand (number \2) and \5 in another (\4)",
        ),
        (
            r"all the input arrays must have same number of dimensions, but the array at index"
            r" (\d+) has (\d+) dimension\(s\) and the array at index (\d+) has (\d+)"
            r" dimension\(s\)",
            r"one operand (number \1) has rank \2, another (\3) rank \4",
        ),
        (r"cannot reshape array of size (\d+) into shape", r"\1 elements do not fit the shape"),
        (
            r"can only convert an array of size 1 to a Python scalar",
            "an operand must have exactly one element, and has another number",
        ),
        (
            r"maximum supported dimension for an ndarray is currently (\d+), found (\d+)",
            r"a tensor would have rank \2, at most \1 is possible",
        ),
        (r"zip\(\) argument \d+ is .*", "its operands or attributes are not equally long"),
        (
            r"axis (-?\d+) is out of bounds for array of dimension (\d+)",
            r"axis \1 is out of range for a tensor of rank \2",
        ),
        (r"axes don't match array", "the permutation does not name each axis once"),
        (
            r"cannot select an axis to squeeze out which has size not equal to one",
            "an axis to squeeze out has another extent than 1",
        ),
        (r"negative dimensions are not allowed", "an extent of the result would be negative"),
    )
)


def reason(error: Exception) -> str:
    """Translate the error of a kernel or numpy: short, with shapes in treadle's notation."""
    cause = error.__cause__
    text = str(error) or type(error).__name__
    return _worded(f"{text} ({cause})" if cause is not None else text)


def _worded(text: str) -> str:
    text = brief(text)
    for numpys, ours in _SAID_OTHERWISE:
        text = numpys.sub(ours, text)
    return in_our_notation(text)
