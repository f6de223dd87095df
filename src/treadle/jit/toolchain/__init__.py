"""From LLVM text to loaded machine code: compiler, loader, disk cache, processor."""
