"""The soak: native code under load for minutes, where the suite takes seconds."""
