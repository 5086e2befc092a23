"""How each write is decided, one module an area. Pure, under the write lock, on views at the log's
head.
"""
