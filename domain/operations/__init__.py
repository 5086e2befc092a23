"""What each operation asks, records and answers, one module an area. The schemas of every surface
derive from it.
"""
