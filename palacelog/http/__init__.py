"""What stands before every way in over HTTP: who may come in, how much, and for how long."""
