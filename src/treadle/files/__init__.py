"""Files that treadle writes."""

from treadle.files.replaced import replaced_file

__all__ = ["replaced_file"]
