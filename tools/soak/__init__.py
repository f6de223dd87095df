"""python -m tools.soak: native code for minutes on end, where the suite takes seconds."""
