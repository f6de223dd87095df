"""The steps of large kernels as functions: equal steps are written once, or merged."""
