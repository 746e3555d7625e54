"""A study times a law gives a Fit."""
