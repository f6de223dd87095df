"""Recurrences of scalars."""
