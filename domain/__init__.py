"""The rules: pure functions and values, without I/O, clock, chance or environment."""
