"""Which engine runs which region, and the borders an engine must keep."""

from treadle.plan.engines import Engine, Limits, Refused, RunContext, Runnable, Stoppable, Verdict
from treadle.plan.planner import INTERP, Declined, interp_only, plan
from treadle.plan.regions import BlockPlan, Plan, Region

__all__ = [
    "INTERP",
    "BlockPlan",
    "Declined",
    "Engine",
    "Limits",
    "Plan",
    "Refused",
    "Region",
    "RunContext",
    "Runnable",
    "Stoppable",
    "Verdict",
    "interp_only",
    "plan",
]
