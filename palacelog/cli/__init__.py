"""The command line: every operation and everything around a palace, for a person or a pipe."""
