"""Kernel operations that need loops of their own."""
