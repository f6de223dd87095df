"""What each ONNX operator becomes in OpenVINO IR: a row or a short function, one file a family."""

from treadle.formats.openvino.write.operators import (
    elementwise,
    gather,
    layout,
    logic,
    matrix,
    reduce,
)
from treadle.formats.openvino.write.operators.registry import ROWS, Row, lacks, row_of

__all__ = [
    "ROWS",
    "Row",
    "elementwise",
    "gather",
    "lacks",
    "layout",
    "logic",
    "matrix",
    "reduce",
    "row_of",
]
