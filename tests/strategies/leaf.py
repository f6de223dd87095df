"""Steps with one result whose shape follows from the operands."""

from __future__ import annotations

from tests.strategies.block import Block, Writer

# operator, kinds of the operands, kind of the result
STEPS = (
    *(
        (op, kinds, result)
        for op in ("Add", "Sub", "Min", "Max")
        for kinds, result in (("FF", "F"), ("II", "I"), ("VV", "V"), ("WW", "W"))
    ),
    *((op, (a, b), c) for op in ("Add", "Sub") for a, b, c in ("FVV", "WIW", "LFL", "VFV")),
    *((op, kind, kind) for op in ("Neg", "Identity", "Abs") for kind in "FIVWLEJ"),
    *((op, "FF", "B") for op in ("Less", "Greater", "Equal")),
    *((op, "II", "B") for op in ("Less", "Greater", "Equal")),
    *((op, "BB", "B") for op in ("And", "Or", "Xor")),
    ("Not", "B", "B"),
    *(("Where", ("B", kind, kind), kind) for kind in "FIVW"),
    ("Mul", "II", "I"),
    *(("ReduceMax <keepdims = 0>", (kind,), "F") for kind in "VL"),
    *(("ReduceSum <keepdims = 0>", (kind,), "I") for kind in "WJ"),
    *(("Size", (kind,), "I") for kind in "LEJ"),
    *(("Cast <to = 1>", (kind,), result) for kind, result in ("IF", "BF", "WV")),
    *(("Cast <to = 7>", (kind,), result) for kind, result in ("FI", "BI", "VW")),
    *(("Concat <axis = 0>", kinds, "L") for kinds in ("VV", "VE", "EV")),
)


def leaf(writer: Writer, block: Block) -> str:
    """Any operator whose operands are there."""
    there = {kind for _, kind in block.visible}
    op, kinds, result = writer.pick([s for s in STEPS if there.issuperset(s[1])])
    operands = ", ".join(writer.pick(block.of(kind)) for kind in kinds)
    return block.step(result, f"{op} ({operands})")
