"""Data whose truth is known, for each verb whose sentences contain decisions."""
