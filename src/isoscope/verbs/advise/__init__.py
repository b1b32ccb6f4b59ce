"""Which correction is worth applying for a task."""
