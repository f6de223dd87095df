"""The thread pool that helps a kernel, in Python and in LLVM IR."""
