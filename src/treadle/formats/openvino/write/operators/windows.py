"""Windows over spatial axes, shared by convolutions and pooling."""

from __future__ import annotations

from typing import NamedTuple

from treadle.formats.openvino.write.op_context import OpContext

_AUTO = {
    "NOTSET": "explicit",
    "": "explicit",
    "SAME_UPPER": "same_upper",
    "SAME_LOWER": "same_lower",
    "VALID": "valid",
}


class Window(NamedTuple):
    """Strides, dilations and pads of a window."""

    strides: list[int]
    dilations: list[int]
    begin: list[int]
    end: list[int]
    auto_pad: str

    def data(self) -> dict[str, object]:
        """The attributes of a layer."""
        return {
            "strides": self.strides,
            "dilations": self.dilations,
            "pads_begin": self.begin,
            "pads_end": self.end,
            "auto_pad": self.auto_pad,
        }


def window(context: OpContext, spatial: int) -> Window:
    """The window of a leaf over its spatial axes."""
    ones = [1] * spatial
    pads = context.integers("pads") or [0] * (2 * spatial)
    auto = _AUTO[context.text("auto_pad", "NOTSET")]
    if auto != "explicit":
        pads = [0] * (2 * spatial)
    return Window(
        context.integers("strides") or ones,
        context.integers("dilations") or ones,
        pads[:spatial],
        pads[spatial:],
        auto,
    )
