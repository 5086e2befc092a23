"""The read models, and the engine that folds the log into them."""
