"""A study as one page: the answer first, then everything it rests on."""
