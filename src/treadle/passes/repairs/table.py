"""The repairs, in the order they are tried; nothing else knows one."""

from __future__ import annotations

from collections.abc import Callable, Collection

from treadle.ir import Model
from treadle.passes.repairs.attributes import drop_attributes
from treadle.passes.repairs.conditions import make_scalar, say_conditions
from treadle.passes.repairs.declarations import correct_declarations
from treadle.passes.repairs.identities import copy_returned
from treadle.passes.repairs.imports import import_opsets
from treadle.passes.repairs.mended import Mended
from treadle.passes.repairs.names import rename_hiding
from treadle.passes.repairs.passed_on import copy_passed_on

Repair = Callable[[Model], tuple[Model, list[Mended]]]

REPAIRS: tuple[tuple[tuple[str, ...], Repair], ...] = (
    (("CF702",), import_opsets),  # first: it says what the operators are
    (("CF211",), drop_attributes),
    (("CF104",), copy_returned),
    (("CF801", "CF804", "CF853"), copy_passed_on),  # after copies are made that may be given twice
    (("CF410",), say_conditions),
    (("CF802",), make_scalar),
    (("CF303", "CF304", "CF405", "CF412"), correct_declarations),
    (("CF103",), rename_hiding),
)
"""Each repair and the codes it answers."""

REPAIRED = frozenset(code for codes, _ in REPAIRS for code in codes)
FOR_RUNTIMES = frozenset({"CF801", "CF804", "CF853"})
"""Those that mend what only a runtime gets wrong."""


def repair(
    model: Model, codes: Collection[str] = REPAIRED - FOR_RUNTIMES
) -> tuple[Model, list[Mended]]:
    """The model with everything mended that has a safe repair, and what was done.

    Only rules among `codes` are answered. The repaired model runs to the same outputs.
    """
    mended: list[Mended] = []
    for answered, mend in REPAIRS:
        if set(answered) & set(codes):
            model, done = mend(model)
            mended += done
    return model, mended
