"""Corrections fitted, applied to files, and refreshed."""
