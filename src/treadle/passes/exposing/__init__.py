"""Exposing: makes any value of any iteration an output of the main graph."""

from treadle.passes.exposing.expose import Exposure, expanded, expose, refuse
from treadle.passes.exposing.targets import Form, Refusal, Target, chosen

__all__ = ["Exposure", "Form", "Refusal", "Target", "chosen", "expanded", "expose", "refuse"]
