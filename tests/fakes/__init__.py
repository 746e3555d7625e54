"""Fakes behind the ports of the measuring layer."""
