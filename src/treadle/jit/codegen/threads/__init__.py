"""The code of the thread pool: workers, fork and join, and whether sharing pays."""
