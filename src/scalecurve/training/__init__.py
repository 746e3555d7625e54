"""The training-scale planner: how a transformer's training step spends its time and memory on P accelerators."""
