"""Converts models to every opset with treadle and other tools, and runs the results.

    python -m tools.versions --who treadle --group exporters     as far as it was not done before
    python -m tools.versions --write                             docs/versions.md from the findings

Findings are lines of JSON in build/versions; a process that dies of a model goes on behind it.
"""
