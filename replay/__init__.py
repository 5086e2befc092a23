"""The log: writing, receiving, rebuilding and verifying it."""
