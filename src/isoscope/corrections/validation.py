"""The one function of scikit-learn that moved between the versions that isoscope works with."""

from __future__ import annotations

from typing import Any

try:
    from sklearn.utils.validation import validate_data as _validate_data
except ImportError:  # before scikit-learn 1.6 it was a method
    _validate_data = None


def validate_data(estimator: Any, X: Any, **checks: Any) -> Any:
    """Check vectors, and set or compare the number and names of features."""
    if _validate_data is None:
        return estimator._validate_data(X, **checks)
    return _validate_data(estimator, X, **checks)
