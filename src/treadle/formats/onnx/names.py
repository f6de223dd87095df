"""Normalizes the spelling of domains."""

from __future__ import annotations


def normal_domain(domain: str) -> str:
    """The domain; "" for the standard's own in either spelling."""
    return "" if domain == "ai.onnx" else domain
