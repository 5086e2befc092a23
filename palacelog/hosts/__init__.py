"""Agent hosts: what palacelog writes into their configuration, and what they ask it when they run.

Protects a person's files: only entries of our own are put in, changed or taken out.
"""
