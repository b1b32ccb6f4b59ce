"""What a task asks of vectors, one file per family of tasks."""
