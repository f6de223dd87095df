"""Loop strategies: tiling, wavefront, linear recurrences by parallel prefix."""
