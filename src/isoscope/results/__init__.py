"""Results, and the call that makes them."""
