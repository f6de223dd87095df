"""The verbs for those who deploy: `warm` and `cache`, and `completion` for their shells."""
