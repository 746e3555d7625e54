"""Calibration: what the network, a server, the memory and the cores of this machine deliver."""
