"""Small models trained from scratch, to find out what makes a space uneven."""

from isoscope.models.runtime import library

for needed in ("torch", "transformers"):  # which say in one line what to install
    library(needed)
