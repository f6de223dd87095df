"""The fixes, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Collection

from treadle.ir import Model, verified
from treadle.passes.fixes.attributes import drop_attributes
from treadle.passes.fixes.conditions import make_conditions_explicit, make_scalar
from treadle.passes.fixes.declarations import correct_declarations
from treadle.passes.fixes.fix import Fix
from treadle.passes.fixes.identities import copy_returned
from treadle.passes.fixes.imports import import_opsets
from treadle.passes.fixes.names import rename_shadowed
from treadle.passes.fixes.passthrough import copy_passthrough

Repair = Callable[[Model], tuple[Model, list[Fix]]]

REPAIRS: tuple[tuple[tuple[str, ...], Repair], ...] = (
    (("CF702",), import_opsets),  # first: it determines the operators
    (("CF211",), drop_attributes),
    (("CF104",), copy_returned),
    (
        ("CF801", "CF804", "CF853"),
        copy_passthrough,
    ),  # after the copies that may be returned twice
    (("CF410",), make_conditions_explicit),
    (("CF802",), make_scalar),
    (("CF303", "CF304", "CF405", "CF412"), correct_declarations),
    (("CF103",), rename_shadowed),
)
"""Each fix with the codes that it repairs."""

REPAIRED = frozenset(code for codes, _ in REPAIRS for code in codes)
FOR_RUNTIMES = frozenset({"CF801", "CF804", "CF853"})
"""The codes of faults that affect a runtime only."""


def repair(
    model: Model, codes: Collection[str] = REPAIRED - FOR_RUNTIMES
) -> tuple[Model, list[Fix]]:
    """Apply every safe fix; returns the model and the fixes.

    Only rules among `codes` are repaired. The outputs of the model stay the same.
    """
    mended: list[Fix] = []
    for answered, mend in REPAIRS:
        if set(answered) & set(codes):
            model, done = verified(mend)(model)
            mended += done
    return model, mended
