"""The palace as plain requests. Nothing else of the house knows the web framework."""
