"""Policy: whether native code is worth it, and which steps join a region."""
