"""The thread pool for parallel nests, in Python and in LLVM IR."""
