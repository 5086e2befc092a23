"""The audit copy: the log's operations and all belief rows as columns, for questions over all of
them.

Protects the log and the views from heavy questions: those are asked of a copy in DuckDB that is
caught up when somebody asks, never trusted, and made anew when in doubt. The only package that
knows DuckDB. Nothing of the palace may depend on what stands in the copy.
"""
