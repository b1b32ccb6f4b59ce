"""Training with isotropy as part of the loss, and small models from scratch."""
