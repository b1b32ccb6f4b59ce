"""Runs of studies: model by model into a folder, on workers, and the trainings that some take."""
