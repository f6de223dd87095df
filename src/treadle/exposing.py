"""The public function `expose`: values of bodies as outputs of the main graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treadle import formats, passes
from treadle.arguments import expect
from treadle.boundary import public
from treadle.errors import InputError
from treadle.ir import Call, Function, Leaf, Model, Type
from treadle.limits import LoadLimits, within
from treadle.sources import valid
from treadle.tracing import Selector

__all__ = ["expose"]


@public
def expose(
    source: object,
    values: str | Iterable[str] = "*",
    *,
    capacity: int | None = None,
    limits: LoadLimits | None = None,
) -> Model:
    """The model with values of its bodies as further outputs, which any runtime computes.

        exposed = treadle.expose("lstm.onnx", "main/loop_0.body/h")
        treadle.save(exposed, "exposed.onnx")

    `values` is a selector, or several: a glob over names, paths and steps, `op:Softmax`,
    `role:carried`. "*" is what nodes make and what loops carry and slice; constants and captures
    are never exposed. A loop is asked for `LOOP@trips` (int64) and `LOOP@ended` (bool: by its
    condition, not by its trip count), a branch for `IF@taken` (bool: its then-branch).

    Outputs are called `PATH/NAME`. Where it is proved that every iteration makes the value, with
    one shape, and inner loops always run equally often, the output is a tensor with an axis for
    each loop, outermost first, in the order of iterations. Else it is a flat sequence in the order
    of execution, and `PATH/NAME@at`, int64[n, loops], has the iteration numbers of each element. A
    value that is a sequence is concatenated: `@at` and `PATH/NAME@lengths`, int64[n], then have an
    entry for each time it was made. An optional comes where it is present.

    With `capacity` no sequences are written, for runtimes without them: the output is a tensor
    [capacity, *shape], filled with zeros behind the `PATH/NAME@count` times that the value was
    made, and `@at` with -1; what is made beyond the capacity is left out, but counted.

    The outputs of before stay, come first and mean the same; floats may differ in their last bits,
    since what is looked at is not fused away. Functions and Scan-8 are expanded. Raises InputError
    for a selector that picks nothing, Unsupported with every value that cannot be exposed.
    `limits` as of `load`.
    """
    selector = Selector.of(values)
    if capacity is not None:
        expect(capacity, int, "capacity", "a whole number, or None")
        if capacity < 1:
            raise InputError(f"capacity is {capacity}, wanted 1 or more")
    with within(limits):
        model = valid(source, "exposed")

        def expand(step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
            return formats.schema_function(step, types, model.opsets)

        exposure = passes.expose(model, selector, expand, capacity)
        passes.refuse(exposure)
    return exposure.model
