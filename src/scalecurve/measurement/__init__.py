"""Real jobs at K workers, and calibration of the machine they run on."""
