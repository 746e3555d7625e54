"""Prediction beyond the measured K, with intervals calibrated on published curves."""
