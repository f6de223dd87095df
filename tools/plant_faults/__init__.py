"""Plants faults in models and asks `treadle.compare` for them."""
