"""Models brought to another opset of the standard's operators, upwards and downwards."""

from treadle.passes.versions import adapters as adapters
from treadle.passes.versions.model import convert_version
from treadle.passes.versions.reasons import NO_FORM
from treadle.passes.versions.table import DOWN, UP

__all__ = ["DOWN", "NO_FORM", "UP", "convert_version"]
