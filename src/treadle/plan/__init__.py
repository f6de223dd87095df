"""Which engine runs which region, and the borders an engine must keep."""

from treadle.plan.engines import Engine, Limits, RunContext, Runnable, Stoppable, Verdict
from treadle.plan.regions import BlockPlan, Plan, Region

__all__ = [
    "BlockPlan",
    "Engine",
    "Limits",
    "Plan",
    "Region",
    "RunContext",
    "Runnable",
    "Stoppable",
    "Verdict",
]
