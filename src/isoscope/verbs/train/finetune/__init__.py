"""Fine-tuning with regularizers, compared over seeds."""

from isoscope.models.runtime import library

for needed in ("torch", "transformers"):  # which say in one line what to install
    library(needed)
