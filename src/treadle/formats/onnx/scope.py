"""Resolves names to values: the scope of one graph while it is read, and its captures.

    resolve(name) = own value, else own capture, else a new parameter for the parent's value

Faults that a closed model no longer shows are reported here: undefined names, names used before
their node, duplicate names, names that shadow outer ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.checks import finding
from treadle.errors import Finding, nearest
from treadle.ir import Value

MOST_HINTS = 50
"""The number of findings after which no similar names are searched, which is slow."""

_DEFINE = "define it, or make it an input"


@dataclass(slots=True)
class Scope:
    """The names of one graph; `later` are those that a later node defines.

    A scope that is `apart` does not share names with outer ones. In `open` scopes (the bodies of
    functions from the standard's schemas) an undefined name becomes a capture of the whole
    function, kept in `free`.
    """

    path: str
    findings: list[Finding]
    parent: Scope | None = None
    open: bool = False
    apart: bool = False
    names: dict[str, Value] = field(default_factory=dict)
    captured: dict[str, tuple[Value, Value]] = field(default_factory=dict)
    later: set[str] = field(default_factory=set)
    free: dict[str, Value] = field(default_factory=dict)

    def define(self, value: Value, path: str) -> Value:
        """Bind a name of this graph to a value."""
        name = value.name
        if name in self.names:
            self.report("CF102", path, f'the name "{name}" is defined twice', "rename one of them")
        elif self.hides(name):
            self.report(
                "CF103",
                path,
                f'"{name}" hides a value of that name outside; the inner one is used',
                f'rename it, for instance to "{name}_inner"',
            )
        self.names[name] = value
        return value

    def hides(self, name: str) -> bool:
        """Whether an enclosing scope that shares its names with this one has the name."""
        if self.apart or self.parent is None:
            return False
        return name in self.parent.names or self.parent.hides(name)

    def sees(self, name: str) -> bool:
        """Whether a body at this point can read the name."""
        return name in self.names or (self.parent is not None and self.parent.sees(name))

    def resolve(self, name: str, path: str) -> Value | None:
        """The value of the name at this point; None, with a finding, if there is none."""
        value = self.find(name)
        if value is not None:
            return value
        if self.is_later(name):
            hint = "move its node before this one, or break the cycle between them"
            self.report_early(name, path, hint, blocks=True)
        else:
            self.report("CF101", path, f'nothing defines "{name}"', self.nearest(name))
        return None

    def find(self, name: str) -> Value | None:
        """The value of the name, captured from outside if needed; None if there is none."""
        if name in self.names:
            return self.names[name]
        if name in self.captured:
            return self.captured[name][1]
        outer = self.parent.find(name) if self.parent is not None else self.find_free(name)
        if outer is None or self.parent is None:
            return outer
        param = Value(name, outer.declared)
        self.captured[name] = (outer, param)
        return param

    def find_free(self, name: str) -> Value | None:
        """In an open scope, a parameter for an undefined name."""
        if not self.open or name in self.later:
            return None
        return self.free.setdefault(name, Value(name))

    def is_later(self, name: str) -> bool:
        """Whether a later node, here or outside, defines the name."""
        return name in self.later or (self.parent is not None and self.parent.is_later(name))

    def nearest(self, name: str) -> str:
        """A hint with the most similar visible name; none for models with very many faults."""
        if len(self.findings) > MOST_HINTS:
            return _DEFINE
        visible: list[str] = []
        scope: Scope | None = self
        while scope is not None:
            visible += scope.names
            scope = scope.parent
        close = nearest(name, visible)
        return f'did you mean "{close}"?' if close else _DEFINE

    def report_early(self, name: str, path: str, hint: str, *, blocks: bool) -> None:
        """Report that a name is used before its node; it blocks if reordering cannot help."""
        message = f'"{name}" is used before the node that defines it'
        self.findings.append(finding("CF105", path, message, hint, blocks=blocks))

    def report(self, code: str, path: str, message: str, hint: str = "") -> None:
        """Add a finding."""
        self.findings.append(finding(code, path, message, hint))
