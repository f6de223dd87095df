"""The adapters, by what changed: importing this package fills the table."""

from treadle.passes.versions.adapters import (
    attributes,
    axes,
    constants,
    masks,
    normalize,
    numbers,
    places,
    pools,
    quantize,
    resize,
    sampling,
    shapes,
    softmax,
    strings,
    sums,
    transforms,
)

__all__ = [
    "attributes",
    "axes",
    "constants",
    "masks",
    "normalize",
    "numbers",
    "places",
    "pools",
    "quantize",
    "resize",
    "sampling",
    "shapes",
    "softmax",
    "strings",
    "sums",
    "transforms",
]
