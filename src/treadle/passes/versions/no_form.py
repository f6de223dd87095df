"""NoForm: raised by an adapter that cannot express a step."""

from __future__ import annotations


class NoForm(Exception):
    """A step has no form in an older or newer opset; holds the reason and a hint."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.why, self.hint = why, hint
