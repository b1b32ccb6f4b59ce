"""Scores with influence functions, folds and tests."""
