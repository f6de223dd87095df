"""Sessions: a checked model, its programs, and runs of them."""

from treadle.session.session import InferenceSession, ModelMetadata

__all__ = ["InferenceSession", "ModelMetadata"]
