"""Storage of carried values and stacked outputs: in place, double buffer, growable, delay line."""
