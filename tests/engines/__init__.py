"""Tests against real engines (`make test-engines`), each skipped with its reason where the engine is missing."""
