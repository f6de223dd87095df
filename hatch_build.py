"""What a package says of itself that hangs on the repository's address: links, and its page's text.

`repository` in pyproject.toml is the one place of the address. Unset, the README is the page as it
is, its links relative, and there are no project urls; set, links are absolute and urls are given.
"""

from __future__ import annotations

from typing import Any

from hatch_fancy_pypi_readme.hooks import FancyReadmeMetadataHook
from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = (("Homepage", ""), ("Source", ""), ("Documentation", "/tree/main/docs"),
         ("Changelog", "/blob/main/CHANGELOG.md"), ("Issues", "/issues"))  # fmt: skip
_RELATIVE = r"\]\((?!https?://|#)([^)]+)\)"


class CustomMetadataHook(MetadataHookInterface):
    """Gives `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in both from the address, if there is one."""
        address = self.config.get("repository", "").rstrip("/")
        metadata["urls"] = {name: f"{address}{tail}" for name, tail in PAGES} if address else {}
        FancyReadmeMetadataHook(self.root, readme(address)).update(metadata)


def get_metadata_hook() -> type[MetadataHookInterface]:
    """The hook of this file; the one it uses is imported into it too."""
    return CustomMetadataHook


def readme(address: str) -> dict[str, Any]:
    """How hatch-fancy-pypi-readme makes the page: the README, its links absolute if they can be."""
    raw = f"{address}/raw/main"
    absolute = [
        {"pattern": r"(!\[[^\]]*)" + _RELATIVE, "replacement": rf"\1]({raw}/\2)"},
        {"pattern": _RELATIVE, "replacement": rf"]({address}/blob/main/\1)"},
    ]
    return {
        "content-type": "text/markdown",
        "fragments": [{"path": "README.md"}],
        "substitutions": absolute if address else [],
    }
