"""The palace over the Model Context Protocol. Nothing else of the house knows the protocol."""
