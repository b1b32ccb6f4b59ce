"""Vectors of texts as sentence encoders make them: pooling, pipelines of modules, prompts."""
