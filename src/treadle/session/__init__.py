"""Sessions: a checked model, its programs, and runs of them."""

from treadle.session.programs import Program, Programs
from treadle.session.session import InferenceSession, ModelMetadata

__all__ = ["InferenceSession", "ModelMetadata", "Program", "Programs"]
