"""A layout as the configuration that a training framework starts with, and read back."""
