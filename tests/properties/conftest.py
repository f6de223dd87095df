"""Profiles of hypothesis: deterministic by default; HYPOTHESIS_PROFILE=long runs more."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("quick", max_examples=30, derandomize=True, database=None, **_COMMON)
settings.register_profile(
    "long", max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "2000")), **_COMMON
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
