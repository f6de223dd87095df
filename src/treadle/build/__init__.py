"""Compiles loops for other programs: C libraries, and operators of onnxruntime."""

from treadle.build.build import Built, build
from treadle.build.outlook import Outlook, outlook, show_outlook

__all__ = ["Built", "Outlook", "build", "outlook", "show_outlook"]
