"""How domains are spelt."""

from __future__ import annotations


def normal_domain(domain: str) -> str:
    """The domain, "" for the standard's own however it is spelt."""
    return "" if domain == "ai.onnx" else domain
