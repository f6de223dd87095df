"""python -m tests.soak: native code for minutes on end, where the suite takes seconds."""
