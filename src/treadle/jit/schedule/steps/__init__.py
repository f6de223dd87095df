"""Schedules of steps: which become functions, in which form they run, in which chunks."""
