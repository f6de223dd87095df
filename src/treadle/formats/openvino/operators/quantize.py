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
def fake_quantize(context: LayerContext) -> Made:
    """Round to one of `levels` values between the output bounds."""
    levels = context.integer("levels")
    if levels < 2:
        raise IrError("CF909", f"levels is {levels}, wanted 2 or more")
    x, low, high, out_low, out_high = (context[k] for k in range(5))
    steps = context.like(0, levels - 1)
    lower, upper = context.leaf("Min", low, high), context.leaf("Max", low, high)
    x = context.leaf("Min", context.leaf("Max", x, lower), upper)
    scaled = context.leaf("Div", context.leaf("Sub", x, low), context.leaf("Sub", high, low))
    level = context.leaf("Round", context.leaf("Mul", scaled, steps))
    part = context.leaf("Div", level, steps)
    width = context.leaf("Sub", out_high, out_low)
    return context.leaf("Add", context.leaf("Mul", part, width), out_low)
