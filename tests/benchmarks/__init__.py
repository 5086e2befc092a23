"""How fast palacelog is: `make bench`, or `python -m tests.benchmarks --help`.

Every goal is a ratio of two things that were measured in turns within one run, so that a slow or
busy machine slows both sides; the figures beside it are this machine's. Nothing here asserts on
wall time: a run reports which goals were met and which were missed.
"""
