"""Meaning: texts as vectors, made on this machine, kept in files beside the log.

Protects the palace from its models: nothing downloads, vectors of two embedders never meet, and
all of this can be thrown away and made again from the texts that the log holds.
"""
