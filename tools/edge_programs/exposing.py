"""Stacks what a loop computes on the way, so that patterns have readers outside of themselves."""

from __future__ import annotations

import random
import re

_EXTRA = "extra"
_LOOP = re.compile(r"^([\w, ]+) = (?:Loop|Scan) [^{]*\) \{", re.DOTALL)
_VALUE = re.compile(r"^\s*(v\d+) = ")


def exposed(written: list[str], chance: random.Random) -> str:
    """Have a loop among these statements stack the maximum of a value of its body.

    Returns the name of the output, of rank 1; "" if no loop has the form that families write.
    """
    for place, statement in enumerate(written):
        found = _LOOP.match(statement)
        lines = statement.splitlines()
        values = _values(lines) if found and "scan_output" not in statement else []
        if found is None or not values or not lines[-1].strip().startswith("}>"):
            continue
        lines[-1:-1] = [
            f"  e1 = Cast <to = 1> ({chance.choice(values)})",
            "  e2 = Reshape (e1, minus1)",
            "  e3 = ReduceMax <keepdims = 0> (e2)",
        ]
        head = found.group()[: -len(") {")].replace(" = ", f", {_EXTRA} = ", 1)
        written[place] = f"{head}, float e3) {{" + "\n".join(lines)[found.end() :]
        return _EXTRA
    return ""


def _values(lines: list[str]) -> list[str]:
    """The values of a body, without those of the bodies in it."""
    depth, found = 0, list[str]()
    for line in lines:
        if depth == 1 and (value := _VALUE.match(line)):
            found.append(value.group(1))
        depth += line.count("{") - line.count("}")
    return found
