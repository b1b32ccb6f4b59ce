"""What every correction is: a scikit-learn transformer that also learns from clouds of any size.

A new correction needs three methods: ``_learn`` from a cloud that can be read any number of times,
``_correct`` a block of rows, and its fitted arrays (``_fitted_arrays``, ``_restore``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from isoscope.clouds.arrays import ArrayCloud, TensorCloud, is_tensor
from isoscope.clouds.opening import open_cloud
from isoscope.clouds.selection import RowSelection, finite_rows
from isoscope.corrections.rows import corrected_rows
from isoscope.corrections.validation import validate_data
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.clouds.contract import Array, Cloud, CloudGroup
    from isoscope.measures.reading import Progress

FLOATS = (np.float64, np.float32, np.float16)
"""Types that come out as they went in; everything else becomes the first."""


class Correction(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Changes every vector of a cloud so that the cloud fills its space more evenly.

    Arrays come back as arrays, tensors as tensors on their device; float16, float32 and float64
    keep their type (half precision is computed in single), integers become float64.
    """

    name: ClassVar[str]
    """What the command line calls it."""
    own_threads: ClassVar[bool] = False
    """Whether ``_correct`` uses several threads itself; otherwise blocks are spread over cores."""

    renormalize: bool
    """Every correction has this parameter: bring corrected vectors to length 1 (zero stays 0)."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from vectors in memory.

        Parameters
        ----------
        X : array or tensor of shape (n_samples, n_features)
            The vectors.
        y : None
            Ignored.
        """
        del y
        self._check_params()
        self._learn(in_memory(self._vectors(X, reset=True)), None)
        return self

    def fit_cloud(self, cloud: Any, *, progress: Progress | None = None) -> Self:
        """Learn from a cloud of any size, batch by batch.

        Parameters
        ----------
        cloud : str, Path, array, tensor or CloudGroup
            Anything that ``isoscope.open_cloud`` takes. Rows that are not finite are refused; a
            ``RowSelection(cloud, drop_invalid=True)`` leaves them out.
        progress : callable, optional
            Called with the name of the read, rows done, and rows in all.
        """
        self._check_params()
        group = one_cloud(cloud)
        self._forget_names(group.widths[0])
        self._learn(group, progress)
        return self

    def transform(self, X: Any) -> Any:
        """Correct vectors; the result has the type, and for tensors the device, of ``X``."""
        check_is_fitted(self)
        vectors = self._vectors(X, reset=False)
        return corrected_rows(
            vectors,
            self._correct,
            self._output_width,
            renormalize=self.renormalize,
            threads=not self.own_threads,
        )

    def state_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything that was learned as named arrays, for a file."""
        check_is_fitted(self)
        return {"n_features_in": np.asarray(self.n_features_in_), **self._fitted_arrays()}

    @classmethod
    def from_state(cls, params: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild a fitted correction from its parameters and ``state_arrays``, bit for bit."""
        correction = cls(**params)
        correction._check_params()
        correction._forget_names(int(arrays["n_features_in"]))
        correction._restore(arrays)
        return correction

    def _check_params(self) -> None:
        """Refuse parameters that make no sense for any cloud, with a ``UsageError``."""
        if not isinstance(self.renormalize, bool | np.bool_):
            raise UsageError(f"{self.name}: renormalize is true or false, not {self.renormalize!r}")

    def _learn(self, group: CloudGroup, progress: Progress | None) -> None:
        """Learn from a group of one cloud, which may be read several times."""
        raise NotImplementedError

    def _correct(self, rows: Array) -> Array:
        """Correct some rows, float32 or float64, array or tensor; never in place.

        Called from several threads at once unless ``own_threads``.
        """
        raise NotImplementedError

    def _fitted_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was learned."""
        raise NotImplementedError

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what ``_fitted_arrays`` gave out."""
        raise NotImplementedError

    @property
    def _output_width(self) -> int:
        """Number of dimensions of corrected vectors."""
        return int(self.n_features_in_)

    def _vectors(self, X: Any, *, reset: bool) -> Array:
        """Check vectors as scikit-learn does; tensors stay tensors."""
        if not is_tensor(X):
            return validate_data(self, X, reset=reset, dtype=FLOATS)
        cloud = TensorCloud(X, "X", fewest=1)
        if reset:
            self._forget_names(cloud.width)
        elif cloud.width != self.n_features_in_:
            raise DataError(
                f"X has {cloud.width} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        good = finite_rows(X.detach())
        if good is not None:
            raise DataError(f"X: row {int(np.flatnonzero(~good)[0])} holds NaN or an infinity")
        return X

    def _forget_names(self, width: int) -> None:
        """Note the width of vectors that have no feature names."""
        self.n_features_in_ = width
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32", "float16"]
        return tags


def in_memory(vectors: Array) -> Cloud:
    """Return checked vectors as a cloud; a single one is enough."""
    if is_tensor(vectors):
        return TensorCloud(vectors, "X", fewest=1)
    return ArrayCloud(vectors, "X", fewest=1)


def one_cloud(source: Any) -> CloudGroup:
    """Open a source that must hold one cloud, and let only finite rows pass."""
    group = open_cloud(source)
    if len(group.names) != 1:
        raise UsageError(
            f"a correction is fitted on one cloud, and there are {len(group.names)}: "
            f"{', '.join(group.names[:8])}; name one of them (open_cloud(path, column=...))"
        )
    return group if isinstance(group, RowSelection) else RowSelection(group)
