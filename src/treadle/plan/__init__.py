"""Planning: which engine runs which region, and the interface of engines."""

from treadle.plan import snapshot
from treadle.plan.abandoned import Abandoned, copied, is_long
from treadle.plan.engines import (
    Engine,
    EngineTraits,
    Persistence,
    RecordStore,
    Verdict,
)
from treadle.plan.long_kernels import is_long_for, run_abandonable
from treadle.plan.offload_cost import is_compute_heavy
from treadle.plan.planner import INTERP, Declined, interp_only, plan
from treadle.plan.region_growing import is_of_shape, steps_before, steps_between
from treadle.plan.regions import BlockPlan, Plan, Region
from treadle.plan.run import (
    Cancellable,
    CompilationReport,
    FallbackRequired,
    Limits,
    Memory,
    NamedCall,
    Pending,
    RunContext,
    Runnable,
    RunnableTraits,
)
from treadle.plan.whole import whole_region

__all__ = [
    "INTERP",
    "Abandoned",
    "BlockPlan",
    "Cancellable",
    "CompilationReport",
    "Declined",
    "Engine",
    "EngineTraits",
    "FallbackRequired",
    "Limits",
    "Memory",
    "NamedCall",
    "Pending",
    "Persistence",
    "Plan",
    "RecordStore",
    "Region",
    "RunContext",
    "Runnable",
    "RunnableTraits",
    "Verdict",
    "copied",
    "interp_only",
    "is_compute_heavy",
    "is_long",
    "is_long_for",
    "is_of_shape",
    "plan",
    "run_abandonable",
    "snapshot",
    "steps_before",
    "steps_between",
    "whole_region",
]
