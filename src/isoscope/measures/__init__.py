"""What is computed from two reads of a cloud."""
