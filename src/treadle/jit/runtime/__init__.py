"""A region at run time: signatures, specialization, compilation, calls, what `explain` shows."""
