"""Which engine runs which region, and the borders an engine must keep."""

from treadle.plan.engines import (
    Cancellable,
    CompilationReport,
    Engine,
    FallbackRequired,
    KernelProvider,
    Limits,
    NamedCall,
    ReturnsFreshArrays,
    RunContext,
    Runnable,
    SupportsExplain,
    SupportsLimits,
    SupportsNamedInputs,
    UsesKernelProviders,
    Verdict,
)
from treadle.plan.offload_cost import is_compute_heavy
from treadle.plan.planner import INTERP, Declined, interp_only, plan
from treadle.plan.regions import BlockPlan, Plan, Region

__all__ = [
    "INTERP",
    "BlockPlan",
    "Cancellable",
    "CompilationReport",
    "Declined",
    "Engine",
    "FallbackRequired",
    "KernelProvider",
    "Limits",
    "NamedCall",
    "Plan",
    "Region",
    "ReturnsFreshArrays",
    "RunContext",
    "Runnable",
    "SupportsExplain",
    "SupportsLimits",
    "SupportsNamedInputs",
    "UsesKernelProviders",
    "Verdict",
    "interp_only",
    "is_compute_heavy",
    "plan",
]
