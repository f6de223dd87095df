"""Schedules of steps: which become functions, and what threads share of products."""
