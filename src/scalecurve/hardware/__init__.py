"""One catalogue of hardware: accelerators, links and prices, each figure with its source and date.

The tables are in `data/`.  Roofline, collectives, training planner and prices all read them here.
"""
