"""A release: wheel and sdist, built, checked, and tried in a fresh environment."""
