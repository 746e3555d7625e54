"""Every layout of a model on P accelerators, and how the job grows with P."""
