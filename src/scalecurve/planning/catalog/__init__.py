"""Dated price lists, each row with its source."""
