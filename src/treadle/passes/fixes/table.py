"""The repairs, in the order they are tried; nothing else knows one."""

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
    (("CF702",), import_opsets),  # first: it says what the operators are
    (("CF211",), drop_attributes),
    (("CF104",), copy_returned),
    (
        ("CF801", "CF804", "CF853"),
        copy_passthrough,
    ),  # after copies are made that may be given twice
    (("CF410",), make_conditions_explicit),
    (("CF802",), make_scalar),
    (("CF303", "CF304", "CF405", "CF412"), correct_declarations),
    (("CF103",), rename_shadowed),
)
"""Each repair and the codes it answers."""

REPAIRED = frozenset(code for codes, _ in REPAIRS for code in codes)
FOR_RUNTIMES = frozenset({"CF801", "CF804", "CF853"})
"""Those that mend what only a runtime gets wrong."""


def repair(
    model: Model, codes: Collection[str] = REPAIRED - FOR_RUNTIMES
) -> tuple[Model, list[Fix]]:
    """The model with everything mended that has a safe repair, and what was done.

    Only rules among `codes` are answered. The repaired model runs to the same outputs.
    """
    mended: list[Fix] = []
    for answered, mend in REPAIRS:
        if set(answered) & set(codes):
            model, done = verified(mend)(model)
            mended += done
    return model, mended
