"""What a model is shown as, in Python and in notebooks: by functions that the printer registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FORMS: dict[str, Callable[[Any], str]] = {}
"""The functions that show a model: as "line", "text" and "html"."""


class Shown:
    """Shown on a line by `repr`, as text by `str`, as HTML by notebooks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return FORMS["line"](self)

    def __str__(self) -> str:
        return FORMS["text"](self)

    def _repr_html_(self) -> str:
        return FORMS["html"](self)
