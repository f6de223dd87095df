"""Scheduling decisions for code generation: storage, fusion and costs."""
