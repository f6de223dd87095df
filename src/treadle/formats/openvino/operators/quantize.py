"""FakeQuantize: rounds to one of `levels` values.

x <= low: out_low;  x > high: out_high
else round((x - low) / (high - low) * (levels - 1)) / (levels - 1) * (out_high - out_low)
     + out_low
"""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer


@layer("FakeQuantize", 1)
def fake_quantize(hand: LayerContext) -> Made:
    """Round to one of `levels` values between the output bounds."""
    levels = hand.integer("levels")
    if levels < 2:
        raise IrError("CF909", f"levels is {levels}, wanted 2 or more")
    x, low, high, out_low, out_high = (hand[k] for k in range(5))
    steps = hand.like(0, levels - 1)
    lower, upper = hand.leaf("Min", low, high), hand.leaf("Max", low, high)
    x = hand.leaf("Min", hand.leaf("Max", x, lower), upper)
    scaled = hand.leaf("Div", hand.leaf("Sub", x, low), hand.leaf("Sub", high, low))
    place = hand.leaf("Round", hand.leaf("Mul", scaled, steps))
    part = hand.leaf("Div", place, steps)
    width = hand.leaf("Sub", out_high, out_low)
    return hand.leaf("Add", hand.leaf("Mul", part, width), out_low)
