"""Calibration: what the network, the memory and the cores of this machine really give."""
