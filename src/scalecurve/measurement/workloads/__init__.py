"""Small real programs to measure, each runnable with `python -m`."""
