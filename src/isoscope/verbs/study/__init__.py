"""Experiments of papers as recipes with claims, to be run on anybody's models."""
