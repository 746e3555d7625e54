"""Seconds and bytes of a training step, and what a whole run needs; every formula takes arrays that broadcast."""
