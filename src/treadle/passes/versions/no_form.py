"""What an adapter raises where there is nothing to say a step by."""

from __future__ import annotations


class NoForm(Exception):
    """An older or newer opset cannot say a step: why, and what would help."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.why, self.hint = why, hint
