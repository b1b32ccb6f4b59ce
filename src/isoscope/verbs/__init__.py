"""One folder per verb: what isoscope does."""
