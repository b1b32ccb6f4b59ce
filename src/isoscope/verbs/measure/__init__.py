"""How evenly a cloud fills its space."""
