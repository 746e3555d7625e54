"""The version of the package: the one place it is written; pyproject.toml and `scalecurve --version` read it."""

__version__ = "0.2.0"
