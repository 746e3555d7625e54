"""Where Scalecurve plugs into other tools: pytest, PyTorch loops, mpi4py communicators."""
