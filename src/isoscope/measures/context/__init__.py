"""How contextual the vectors of a model's layers are, from one read of all layers.

Importing this package does not import torch; taking a batch does.
"""
