"""NoForm: raised by an adapter that cannot express a step."""

from __future__ import annotations


class NoForm(Exception):
    """A step has no form in an older or newer opset: the reason, a hint, the standard's clause."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.why, self.hint, self.clause = why, hint, ""
