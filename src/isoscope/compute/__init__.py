"""How batches are worked through: on threads, processes or Ray, with a journal beside them."""
