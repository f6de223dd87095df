"""The public function `expose`: makes values of bodies outputs of the main graph."""

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
    """Add values of bodies to the outputs of the model, for any runtime.

        exposed = treadle.expose("lstm.onnx", "main/loop_0.body/h")
        treadle.save(exposed, "exposed.onnx")

    `values` is one selector or several: a glob over names, paths and steps, `op:Softmax`,
    `role:carried`. "*" picks the results of nodes and the carried and sliced values of loops;
    constants and captures are never exposed. `LOOP@trips` (int64) is the number of iterations of a
    loop, `LOOP@ended` (bool) whether its condition and not its trip count ended it, `IF@taken`
    (bool) whether the then-branch ran.

    Outputs are named `PATH/NAME`. If every iteration provably computes the value with one shape,
    and inner loops have constant trip counts, the output is a tensor with one axis per loop,
    outermost first, in the order of iterations. Otherwise it is a flat sequence in the order of
    execution, and `PATH/NAME@at`, int64[n, loops], has the iteration numbers of each element.
    Values that are sequences are concatenated: `@at` and `PATH/NAME@lengths`, int64[n], then have
    one entry per value. Absent optionals are left out.

    With `capacity` no sequences are used, for runtimes without them: the output is a tensor
    [capacity, *shape] with `PATH/NAME@count` values, padded with zeros, and `@at` padded with -1;
    values beyond the capacity are counted but left out.

    The original outputs come first and are unchanged; floats may differ in their last bits, since
    exposed values are not fused. Functions and Scan-8 are expanded. Raises InputError for a
    selector that picks nothing, Unsupported with every value that cannot be exposed. `limits` as in
    `load`.
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
