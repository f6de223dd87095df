"""Loop strategies: register tiles, wavefront, linear recurrences by parallel prefix."""
