"""Turns caches that grow by Concat into buffers of a fixed size."""

from treadle.passes.rewrites.named.static_cache.rewrite import static_cache

__all__ = ["static_cache"]
