"""Scoring search: `make eval`, on the set in fixtures/ or on conversations in a file."""
