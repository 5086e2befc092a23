"""The ways in: what a person or an agent calls to reach a palace."""
