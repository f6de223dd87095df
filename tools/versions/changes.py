"""Every change of an operator's schema from opset 9 on, with treadle's conversion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treadle import ops
from treadle.passes.versions import DOWN, NO_FORM, UP
from treadle.passes.versions.control_flow import HANDLED

_OLDEST = 9
_PAGE = """# Changes of operators between opsets

How `treadle convert --opset` takes each change of a schema between opset 9 and {newest}.

* *nothing*: the step stays as it is. Where the other version lacks its element type, it runs in a
  wider one.
* *adapter*: it is said in another way (`src/treadle/passes/versions/adapters`).
* *definition*: the function the standard defines it by takes its place.
* *control flow*: the one loop form is written as the version has it.
* *no form*: the opset has none.

`pytest tests/passes/versions/test_changes.py --update-golden` writes this page.

| operator | from | to | upwards | downwards |
|---|--:|--:|---|---|
{rows}
"""


@dataclass(frozen=True)
class SchemaChange:
    """One change: the version before (0 where the operator is new) and the one it leads to."""

    op: str
    before: int
    after: int
    upwards: str
    downwards: str


def changes() -> Iterator[SchemaChange]:
    """Every change that leads to a version after opset 9, by operator."""
    for op, versions in ops.known_operators("").items():
        for before, after in zip((0, *versions), versions, strict=False):
            if after > _OLDEST:
                yield SchemaChange(
                    op, before, after, _up(op, before, after), _down(op, before, after)
                )


def _up(op: str, before: int, after: int) -> str:
    if not before:
        return "nothing"
    return _way(op, after, "adapter" if (op, after) in UP else "", before, after)


def _down(op: str, before: int, after: int) -> str:
    schema = ops.schema("", op, after)
    assert schema is not None
    if (op, after) in DOWN:
        return "adapter"
    if schema.deprecated:
        return "nothing"
    if not before:
        found = "definition" if schema.is_function else ""
        return found or _no_form(op, after)
    if schema.is_function and not _fits(op, after, before):
        return "definition"
    return _way(op, after, "", after, before)


def _way(op: str, version: int, found: str, old: int, new: int) -> str:
    if found:
        return found
    if op in HANDLED:
        return "control flow"
    return "nothing" if _fits(op, old, new) else _no_form(op, version)


def _fits(op: str, old: int, new: int) -> bool:
    """Whether every step of one version is, but for element types, one of the other."""
    one, other = ops.schema("", op, old), ops.schema("", op, new)
    assert one is not None
    assert other is not None
    known = {
        name: (rule.kind, rule.default and rule.default.value)
        for name, rule in other.attributes.items()
    }
    same = all(
        name in known and known[name] == (rule.kind, rule.default and rule.default.value)
        for name, rule in one.attributes.items()
    )
    return same and one.min_inputs >= other.min_inputs and one.max_inputs <= other.max_inputs


def _no_form(op: str, version: int) -> str:
    why = NO_FORM.get((op, version))
    return f"no form: {why}" if why else "UNKNOWN"


def page() -> str:
    """The page of all changes."""
    rows = [
        f"| {c.op} | {c.before or ''} | {c.after} | {c.upwards} | {c.downwards} |"
        for c in changes()
    ]
    return _PAGE.format(newest=ops.newest_opset(""), rows="\n".join(rows))
