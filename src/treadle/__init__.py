"""treadle runs, checks, explains and rewrites the control flow of neural-network graphs."""

__version__ = "0.1.0"
