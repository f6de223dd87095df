"""The OpenVINO form of each ONNX operator: a row or a short function, one file per family."""

from treadle.formats.openvino.write.operators import (
    construct,
    convolve,
    elementwise,
    gather,
    layout,
    logic,
    matrix,
    normalize,
    padding,
    pool,
    quantize,
    recurrent,
    reduce,
    resize,
)
from treadle.formats.openvino.write.operators.registry import ROWS, Row, lacks, row_of

__all__ = [
    "ROWS",
    "Row",
    "construct",
    "convolve",
    "elementwise",
    "gather",
    "lacks",
    "layout",
    "logic",
    "matrix",
    "normalize",
    "padding",
    "pool",
    "quantize",
    "recurrent",
    "reduce",
    "resize",
    "row_of",
]
