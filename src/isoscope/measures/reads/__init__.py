"""The two reads of a cloud, and what follows from them."""
