"""Code of kernel operations that need loops of their own."""
