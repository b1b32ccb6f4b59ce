"""Charts of explanations."""
