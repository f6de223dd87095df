"""A release: wheel and sdist, built, checked, and tried in an environment of their own."""
