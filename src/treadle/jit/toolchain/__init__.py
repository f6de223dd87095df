"""From LLVM IR to loaded machine code: compiler, loader, disk cache, processor."""
