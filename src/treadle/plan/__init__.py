"""Which engine runs which region, and the borders an engine must keep."""

from treadle.plan.engines import (
    Account,
    Accountable,
    Borrowing,
    Bounding,
    ByName,
    Direct,
    Engine,
    Lending,
    Limits,
    Owning,
    Refused,
    RunContext,
    Runnable,
    Stoppable,
    Verdict,
)
from treadle.plan.planner import INTERP, Declined, interp_only, plan
from treadle.plan.regions import BlockPlan, Plan, Region
from treadle.plan.worth import is_heavy

__all__ = [
    "INTERP",
    "Account",
    "Accountable",
    "BlockPlan",
    "Borrowing",
    "Bounding",
    "ByName",
    "Declined",
    "Direct",
    "Engine",
    "Lending",
    "Limits",
    "Owning",
    "Plan",
    "Refused",
    "Region",
    "RunContext",
    "Runnable",
    "Stoppable",
    "Verdict",
    "interp_only",
    "is_heavy",
    "plan",
]
