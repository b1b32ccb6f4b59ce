"""What every correction is: a scikit-learn transformer that also learns from clouds of any size.

A new correction needs three methods: ``_learn`` from a cloud that can be read any number of times,
``_correct`` a block of rows, and its fitted arrays (``_fitted_arrays``, ``_restore``; what they
look like is in ``_slots``).
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from isoscope.compute.map_reduce import Run
from isoscope.corrections.apply import corrected_rows, with_zeros_kept
from isoscope.corrections.export import to_faiss, to_sentence_transformers
from isoscope.corrections.fit import fitted_on, kept_rows, read_with_sample
from isoscope.corrections.parameters import BOOLEAN, Slot, check_arrays
from isoscope.corrections.storage import fingerprint, save_correction
from isoscope.data.arrays import TensorCloud, as_cloud, is_tensor
from isoscope.data.open import one_cloud
from isoscope.data.selection import finite_rows
from isoscope.errors import DataError, UsageError
from isoscope.measures.reads.moments import MomentParts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.corrections.fit import FittedOn, Summary
    from isoscope.corrections.parameters import Rule, Slots
    from isoscope.data.base import Array, CloudGroup
    from isoscope.progress import Progress
    from isoscope.typing import Matrix


try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before scikit-learn 1.6 it was a method
    validate_data = BaseEstimator._validate_data


# Types that come out as they went in; everything else becomes the first.
FLOATS = (np.float64, np.float32, np.float16)

# Types of vectors that are corrected as they come, and up to how many numbers their checks are
# shortened: of more, the checks take a small part of the time.
PLAIN = (np.dtype(np.float32), np.dtype(np.float64))
FEW_NUMBERS = 2**15

# What progress calls the read that tells what a correction was fitted on.
NOTE = "note"

# Name of the number of dimensions among the arrays for a file.
WIDTH = "n_features_in"


class Correction(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Changes every vector of a cloud so that the cloud fills its space more evenly.

    Arrays come back as arrays, tensors as tensors on their device; float16, float32 and float64
    keep their type (half precision is computed in single), integers become float64. Zero vectors,
    which stand for vectors that are missing, stay zero vectors.

    Parameters
    ----------
    renormalize : bool
        Bring corrected vectors to norm 1; zero stays 0. ``transform`` does just what this says.
        ``isoscope.apply_correction``, ``to_faiss`` and ``to_sentence_transformers`` also bring
        vectors to norm 1 where those that the correction was fitted on had norm 1.
    """

    name: ClassVar[str]
    """What the command line calls it."""
    from_sums: ClassVar[bool] = False
    """Whether it follows from sums over the rows, so that any workers can fit it."""
    affine: ClassVar[bool] = False
    """Whether it is an affine map, which other libraries can apply."""
    own_threads: ClassVar[bool] = False
    """Whether ``_correct`` uses several threads itself; otherwise blocks are spread over cores."""
    records: ClassVar[frozenset[str]] = frozenset()
    """Fitted arrays that are kept for people and never applied: they may hold NaN."""
    parts: ClassVar[MomentParts] = MomentParts(scatter=False, dimensions=False, mean=False)
    """Which sums it needs; the cheapest tell what it was fitted on."""
    stage: ClassVar[str] = NOTE
    """What progress calls the read that takes them."""
    rules: ClassVar[Mapping[str, Rule]] = {}
    """What parameters may be, whatever the cloud; ``renormalize`` has its rule already."""

    _fitted_on: FittedOn
    _complete: bool = False
    """Whether the last fit came to its end; scikit-learn sets attributes when one begins."""

    def __init__(self, *, renormalize: bool = False) -> None:
        self.renormalize = renormalize

    def __sklearn_is_fitted__(self) -> bool:
        """Tell ``check_is_fitted`` whether vectors can be corrected."""
        return self._complete

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
        self._begin()
        self._fit_group(as_cloud(self._vectors(X, reset=True), "X"))
        return self

    def fit_cloud(
        self, cloud: Any, *, progress: Progress | None = None, plan: Run | None = None
    ) -> Self:
        """Learn from a cloud of any size, batch by batch.

        Parameters
        ----------
        cloud : str, Path, array, tensor or CloudGroup
            Anything that ``isoscope.open_cloud`` takes. Rows that are not finite are refused; a
            ``RowSelection(cloud, drop_invalid=True)`` leaves them out.
        progress : callable, optional
            Called with the name of the read, rows done, and rows in all.
        plan : Run, optional
            What becomes of shards that cannot be read. Only corrections that follow from sums are
            fitted by other workers, and keep a journal.
        """
        self._fit_group(self._begin_on(cloud), progress, plan)
        return self

    def transform(self, X: Any) -> Any:
        """Correct vectors; the result has the type, and for tensors the device, of ``X``."""
        if not self._complete:  # scikit-learn's check takes as long as to correct a vector
            check_is_fitted(self)
        vectors = self._vectors(X, reset=False)
        return self._changed(vectors, self._corrected, self._output_width, self.renormalize)

    def _changed(
        self, vectors: Array, change: Callable[[Array], Array], width: int, renormalize: bool
    ) -> Array:
        """Change rows in blocks, on several threads unless one block uses them all."""
        return corrected_rows(
            vectors, change, width, renormalize=renormalize, own_threads=self.own_threads
        )

    def save(self, path: str | Path) -> None:
        """Write to a ``.safetensors`` file that ``isoscope.load_correction`` reads.

        Parameters
        ----------
        path : str or Path
            A file that is there is replaced.
        """
        save_correction(self, path)

    def to_sentence_transformers(self, model: Any = None, *, keep_norms: bool = False) -> Any:
        """Turn an affine correction into a stock ``Dense`` that loads without isoscope.

        Parameters
        ----------
        model : SentenceTransformer, optional
            The model whose vectors are corrected; it does not change.
        keep_norms : bool
            Leave the norms as the correction makes them, also where the vectors that it was fitted
            on had norm 1. A ``Normalize`` that follows the correction in the model stays.

        Returns
        -------
        list of modules, or SentenceTransformer
            ``Dense``, and ``Normalize`` with ``renormalize`` or where the correction was fitted on
            vectors with norm 1, unless ``keep_norms``. With a model, a new one that shares its
            weights: the correction stands before its last ``Normalize`` where it was fitted on
            vectors that did not have norm 1, and after it, with another ``Normalize`` at the end,
            where they did. A model without ``Normalize`` gets one before the correction in that
            case.
        """
        check_is_fitted(self)
        return to_sentence_transformers(self, model, keep_norms=keep_norms)

    def to_faiss(self, index: Any = None, *, keep_norms: bool = False) -> Any:
        """Turn an affine correction into transforms of faiss.

        Parameters
        ----------
        index : faiss.Index, optional
            An index over corrected vectors.
        keep_norms : bool
            Leave the norms as the correction makes them, also where the vectors that it was fitted
            on had norm 1. Inner products are no cosines then.

        Returns
        -------
        list of VectorTransform, or IndexPreTransform
            A ``LinearTransform``, and behind it a ``NormalizationTransform`` with ``renormalize``
            or where the correction was fitted on vectors with norm 1, unless ``keep_norms``: apply
            all of them, in their order. With an index, one that takes vectors as they are and
            corrects what is added and searched. A linear map has no exception for zero vectors:
            leave them out of the index.
        """
        check_is_fitted(self)
        return to_faiss(self, index, keep_norms=keep_norms)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of name, parameters and all that was learned; survives saving and loading."""
        return fingerprint(self)

    @property
    def fitted_on_(self) -> FittedOn:
        """Number, type and fingerprint of the vectors that it was fitted on."""
        check_is_fitted(self)
        return self._fitted_on

    def state_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything that was learned as named arrays, for a file."""
        check_is_fitted(self)
        return {WIDTH: np.asarray(self.n_features_in_), **self._fitted_arrays()}

    @classmethod
    def from_state(cls, params: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild a fitted correction from its parameters and ``state_arrays``, bit for bit."""
        correction = cls(**params)
        correction._check_params()
        check_arrays({WIDTH: arrays[WIDTH]} if WIDTH in arrays else {}, {WIDTH: Slot((), "int64")})
        width = int(arrays[WIDTH])
        if width < 1:
            raise DataError(f"the tensor {WIDTH} is {width}, which is not a number of dimensions")
        # Those that declare shapes keep something of each dimension. What is compared with it below
        # takes memory: as much as the file itself, not as much as a forged file says.
        if correction._slots(1) is not None and width > max(
            array.size for array in arrays.values()
        ):
            raise DataError(f"the tensor {WIDTH} is {width}, more than any other tensor holds")
        slots = correction._slots(width)
        if slots is not None:
            check_arrays({key: arrays[key] for key in arrays if key != WIDTH}, slots)
        correction._forget_names(width)
        correction._restore(arrays)
        correction._complete = True
        return correction

    def _check_params(self) -> None:
        """Refuse parameters that make no sense for any cloud, with a ``UsageError``."""
        for parameter, rule in {"renormalize": BOOLEAN, **self.rules}.items():
            value = getattr(self, parameter)
            if not rule.allows(value):
                raise UsageError(f"{self.name}: {parameter} must be {rule.wanted}, got {value!r}")

    def _begin(self) -> None:
        """Begin a fit: nothing is fitted until it has come to its end, not even what was before.

        Every way to fit calls this first. ``check_is_fitted`` would otherwise find what an earlier
        fit left behind, with the number of dimensions of one that failed.
        """
        self._complete = False
        self._check_params()

    def _begin_on(self, cloud: Any) -> CloudGroup:
        """Begin a fit on anything that ``isoscope.open_cloud`` takes, and open it."""
        self._begin()
        group = one_cloud(cloud)
        self._forget_names(group.widths[0])
        return group

    def _learn(self, group: CloudGroup, progress: Progress | None) -> None:
        """Learn from a group of one cloud, which may be read several times."""
        raise NotImplementedError

    def _fit_group(
        self,
        group: CloudGroup,
        progress: Progress | None = None,
        plan: Run | None = None,
        sample_size: int = 0,
    ) -> Matrix:
        """Learn from a group of one cloud, and return some of its rows at random.

        What was learned from is noted in one cheap read more, which also draws the sample.
        """
        plan = Run() if plan is None else plan
        if plan.on_error == "stop":
            self._learn(group, progress)
            sample = self._note(group, progress, plan, sample_size)
        else:
            # What cannot be read shows in the cheap read, and is left out of the others.
            sample = self._note(group, progress, plan, sample_size)
            self._learn(kept_rows(group, plan), progress)
        self._complete = True
        return sample

    def _parts(self) -> MomentParts:
        """Return which sums the read takes that tells what the correction was fitted on."""
        return self.parts

    def _note(
        self, group: CloudGroup, progress: Progress | None, plan: Run, sample_size: int
    ) -> Matrix:
        """Note what a group holds, and return some of its rows at random."""
        summary, sample = read_with_sample(
            group, self._parts(), sample_size, progress=progress, plan=plan, stage=self.stage
        )
        self._take(summary, plan)
        return sample

    def _take(self, summary: Summary, plan: Run) -> None:
        """Take the sums of the read that tells what the correction was fitted on."""
        del plan
        self._fitted_on = fitted_on(summary.moments, summary.stored)

    def _check_invertible(self) -> None:
        """Refuse to undo a correction that is not fitted, or after which the norms are lost."""
        check_is_fitted(self)
        if self.renormalize:
            raise UsageError(
                f"{self.name} with renormalize=True has no inverse: the norms are lost"
            )

    def _undone(self, X: Any, undo: Callable[[Array], Array]) -> Array:
        """Turn corrected vectors back, block by block."""
        vectors = X if is_tensor(X) else check_array(X, dtype=FLOATS)
        if len(vectors.shape) != 2 or vectors.shape[1] != self._output_width:
            raise DataError(
                f"corrected vectors have {self._output_width} dimensions; these have the shape "
                f"{tuple(vectors.shape)}"
            )
        return self._changed(vectors, undo, int(self.n_features_in_), renormalize=False)

    def _correct(self, rows: Array) -> Array:
        """Correct some rows, float32 or float64, array or tensor; never in place.

        Called from several threads at once unless ``own_threads``.
        """
        raise NotImplementedError

    def _corrected(self, rows: Array) -> Array:
        """Correct some rows as ``_correct`` does, except that zero vectors stay zero vectors."""
        return with_zeros_kept(rows, self._correct(rows))

    def _fitted_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was learned."""
        raise NotImplementedError

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what ``_fitted_arrays`` gave out."""
        raise NotImplementedError

    def _slots(self, width: int) -> Slots | None:
        """Return shapes and types of the fitted arrays; None leaves all checks to ``_restore``."""
        del width
        return None

    @property
    def _output_width(self) -> int:
        """Number of dimensions of corrected vectors."""
        return int(self.n_features_in_)

    def _vectors(self, X: Any, *, reset: bool) -> Array:
        """Check vectors as scikit-learn does; tensors stay tensors."""
        if not reset:
            if self._is_plain(X):
                return X
            self._check_width(X)
        if not is_tensor(X):
            # scikit-learn looks for NaN in a sum, which may overflow where no number does.
            with np.errstate(over="ignore", invalid="ignore"):
                return validate_data(self, X, reset=reset, dtype=FLOATS)
        cloud = TensorCloud(X, "X", fewest=1)
        if reset:
            self._forget_names(cloud.width)
        good = finite_rows(X.detach())
        if good is not None:
            raise DataError(f"X: row {int(np.flatnonzero(~good)[0])} holds NaN or an infinity")
        return X

    def _is_plain(self, X: Any) -> bool:
        """Whether these are a few good vectors of the right width, so that nothing need be checked.

        A single query would otherwise wait for checks longer than for its correction. Vectors that
        are not plain may be good as well, and scikit-learn says what is wrong with others.
        """
        return (
            type(X) is np.ndarray
            and X.dtype in PLAIN
            and X.ndim == 2
            and 0 < X.size <= FEW_NUMBERS
            and X.shape[1] == self.n_features_in_
            and "feature_names_in_" not in self.__dict__
            # NaN and infinities show in the sum of squares, in one call; one that overflows sends
            # good vectors to the thorough checks.
            and isfinite(np.vdot(X, X))
        )

    def _check_width(self, X: Any) -> None:
        """Refuse vectors of another width, in the words of scikit-learn."""
        shape: Any = getattr(X, "shape", ())
        if len(shape) == 2 and shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def _forget_names(self, width: int) -> None:
        """Set the number of dimensions, for vectors whose dimensions have no names."""
        self.n_features_in_ = width
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32", "float16"]
        return tags
