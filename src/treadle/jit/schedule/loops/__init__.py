"""Loop strategies: each decides from the dependences of a loop whether it applies, and why not."""
