"""Where Scalecurve plugs into other tools: pytest."""
