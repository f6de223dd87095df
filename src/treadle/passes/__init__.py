"""Model to Model, one file per pass; `pipeline` alone knows an order."""

from treadle.passes.bind_attributes import bind_attributes

__all__ = ["bind_attributes"]
