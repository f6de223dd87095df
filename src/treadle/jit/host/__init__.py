"""Host calls: calls from native code into Python, and Python objects in native code."""
