"""What to do about a space: every correction tried, cross-fitted, and one sentence at the end."""
