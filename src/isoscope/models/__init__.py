"""Transformers: opening them, their named parts, and their layers as clouds."""
