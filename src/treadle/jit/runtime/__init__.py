"""A region at run time: signatures, specialization, compilation, calls and reports."""
