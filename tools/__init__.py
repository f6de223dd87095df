"""Tools for the development of treadle."""
