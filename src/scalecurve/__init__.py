"""Scalecurve: how far does adding machines get you, why does it stop, and what does it cost?"""
