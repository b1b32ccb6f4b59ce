"""How batches are worked through: threads of one machine."""
