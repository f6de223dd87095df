"""The commands for deployment: `warm` and `cache`, and `completion` for shells."""
