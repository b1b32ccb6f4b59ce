"""z = f(x) ~ N(0, I): an invertible network that makes a cloud as normal as it can.

BERT-flow (Li et al. 2020) with the steps of Glow (Kingma & Dhariwal 2018), trained to maximise
ln p(x) = ln N(f(x); 0, I) + ln |det ∂f/∂x|. The network itself is in ``corrections/flow``.
"""

from __future__ import annotations

import importlib.util
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from isoscope.corrections.base import Correction
from isoscope.corrections.parameters import Rule, whole_number
from isoscope.errors import DataError, UsageError
from isoscope.registry import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from isoscope.corrections.flow.mapping import FlowMap
    from isoscope.data.base import Array, CloudGroup
    from isoscope.progress import Progress


class Flow(OneToOneFeatureMixin, Correction):  # type: ignore[misc]
    """Map a cloud to a standard normal distribution by an invertible network.

    z = f(x) is trained by maximum likelihood on the vectors as they are, which stay frozen (Li et
    al. 2020): ln p(x) = ln N(f(x); 0, I) + ln |det ∂f/∂x|. The first step of f is linear and
    solved in closed form: whitening with a correlation matrix drawn towards the identity by as
    much as makes held-out vectors likeliest. ``n_steps`` steps like those of Glow follow (Kingma &
    Dhariwal 2018): actnorm, an invertible linear map, and an affine coupling, in which one half of
    the dimensions says how to shift and stretch the other. Before training f is ZCA whitening,
    that is, p is a Gaussian, and an epoch is kept only if the held-out vectors become likelier:
    the result is never worse than the Gaussian on them.

    A large cloud is learned from a random sample of ``max_samples`` rows, held in memory: training
    needs many passes in changing order, which a file serves badly, and consecutive rows of a file
    sorted by frequency would drag the network along.

    Dimensions that are constant in the training rows are left out of the network: they are 0 in
    the output, and their mean comes back on the inverse. So are directions without variance, as
    Σ x_j = 0 after a layer norm, where there are more training rows than dimensions; the density
    is then one on the space that remains. With fewer rows nobody knows, and the shrunk matrix
    covers all directions. With a single dimension left there is nothing to couple it with: the
    flow has no steps and standardises.

    Needs the extra ``flow`` (torch, zuko). Tensors are learned from and corrected on their device,
    arrays on the CPU; the network computes in the precision of the vectors it is given (half
    precision in single), and is trained in single.

    Parameters
    ----------
    n_steps : int
        Number of steps.
    hidden_features : int or sequence of int
        Widths of the hidden layers of each coupling's perceptron.
    max_iter : int
        Most epochs.
    batch_size : int
        Rows of one training step.
    learning_rate : float
        Step size of Adam.
    validation_fraction : float
        Share of the rows that is held out to tell when to stop.
    n_iter_no_change : int
        Epochs without improvement of the held-out likelihood after which training stops.
    max_samples : int
        Most rows to learn from, held-out ones included.
    random_state : int, RandomState or None
        Decides sample, split, first weights and order. The same number gives the same flow on the
        same machine with the same number of threads.
    verbose : bool
        Write a line per epoch to standard error.
    renormalize : bool
        Bring corrected vectors to length 1; there is no inverse then.

    Attributes
    ----------
    n_iter_ : int
        Epochs that were run.
    best_iter_ : int
        Epoch that was kept; 0 is the Gaussian.
    history_ : array of shape (n_iter_ + 1,)
        Mean log-likelihood of the held-out vectors after each epoch, in nats.
    validation_log_likelihood_ : float
        That of the epoch that was kept.
    gaussian_log_likelihood_ : float
        That of the Gaussian: what the network had to beat.
    mean_ : array of shape (n_features_in_,)
        Mean of the training rows.
    shrinkage_ : float
        Share of the identity in the correlation matrix.
    n_directions_ : int
        Dimensions of the network.
    dropped_ : array of int
        Dimensions that are constant in the training rows.

    References
    ----------
    Li et al. 2020, "On the Sentence Embeddings from Pre-trained Language Models". Kingma &
    Dhariwal 2018, "Glow: Generative Flow with Invertible 1×1 Convolutions".
    """

    name = "flow"
    own_threads = True
    records = frozenset({"history"})
    rules: ClassVar = {
        **dict.fromkeys(("n_steps", "max_iter", "batch_size", "n_iter_no_change"), whole_number(1)),
        "max_samples": whole_number(3),
        "learning_rate": Rule("a number above 0", lambda rate: is_between(rate, 0, np.inf)),
        "validation_fraction": Rule(
            "a number between 0 and 1", lambda share: is_between(share, 0, 1)
        ),
    }

    def __init__(
        self,
        n_steps: int = 8,
        *,
        hidden_features: int | Sequence[int] = (128, 128),
        max_iter: int = 100,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        max_samples: int = 50_000,
        random_state: Any = 0,
        verbose: bool = False,
        renormalize: bool = False,
    ) -> None:
        self.n_steps = n_steps
        self.hidden_features = hidden_features
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.max_samples = max_samples
        self.random_state = random_state
        self.verbose = verbose
        self.renormalize = renormalize

    @property
    def n_iter_(self) -> int:
        """Epochs that were run."""
        return len(self.history_) - 1

    @property
    def best_iter_(self) -> int:
        """Epoch that was kept."""
        return int(np.nanargmax(self.history_))

    @property
    def validation_log_likelihood_(self) -> float:
        """Held-out log-likelihood of the epoch that was kept."""
        return float(np.nanmax(self.history_))

    @property
    def gaussian_log_likelihood_(self) -> float:
        """Held-out log-likelihood before training."""
        return float(self.history_[0])

    @property
    def mean_(self) -> NDArray[np.float64]:
        """Mean of the training rows."""
        return self._fitted().linear.mean

    @property
    def shrinkage_(self) -> float:
        """Share of the identity in the correlation matrix."""
        return self._fitted().linear.shrinkage

    @property
    def n_directions_(self) -> int:
        """Dimensions of the network."""
        return self._fitted().linear.n_directions

    @property
    def dropped_(self) -> NDArray[np.int64]:
        """Dimensions that are constant."""
        return self._fitted().linear.dropped

    def inverse_transform(self, X: Any) -> Any:
        """Undo the correction; what was dropped comes back as the mean."""
        self._check_invertible()
        return self._undone(X, self._fitted().undo)

    def score_samples(self, X: Any) -> Any:
        """Return the log-likelihood of each vector, in nats, in the space of ``X``.

        Parameters
        ----------
        X : array or tensor of shape (n_samples, n_features)
            The vectors.

        Returns
        -------
        array or tensor of shape (n_samples,), float64
            ln N(f(x); 0, I) + ln |det ∂f/∂x|.
        """
        flow = self._fitted()
        return flow.log_likelihood(self._vectors(X, reset=False))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the vectors, in nats."""
        del y
        return float(self.score_samples(X).mean())

    def hidden_widths(self) -> tuple[int, ...]:
        """Return ``hidden_features`` as a tuple, whichever way it was given."""
        hidden: Any = self.hidden_features
        listed = tuple(hidden) if isinstance(hidden, tuple | list | np.ndarray) else (hidden,)
        if not all(isinstance(width, Integral) and int(width) > 0 for width in listed):
            raise UsageError(
                f"{self.name}: hidden_features must be whole numbers of at least 1, got {hidden!r}"
            )
        return tuple(int(width) for width in listed)

    def _check_params(self) -> None:
        super()._check_params()
        self.hidden_widths()

    def _learn(self, group: CloudGroup, progress: Progress | None) -> None:
        require_extra()
        fit_flow = load("isoscope.corrections.flow.likelihood:fit_flow")
        self._flow, self.history_ = fit_flow(self, group, progress)

    def _fitted(self) -> FlowMap:
        check_is_fitted(self)
        flow: FlowMap = self._flow
        return flow

    def _correct(self, rows: Array) -> Array:
        return self._fitted().correct(rows)

    def _fitted_arrays(self) -> dict[str, NDArray[Any]]:
        return {"history": self.history_, **self._fitted().to_arrays()}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        require_extra()
        kind: type[FlowMap] = load("isoscope.corrections.flow.mapping:FlowMap")
        self._flow, self.history_ = kind.from_arrays(arrays), checked_history(arrays["history"])


def is_between(value: Any, low: float, high: float) -> bool:
    """Whether a value is a number between two others, which it must not equal."""
    return isinstance(value, Real) and low < float(value) < high


def require_extra() -> None:
    """Say what to install where torch or zuko is missing."""
    for module in ("torch", "zuko"):
        if importlib.util.find_spec(module) is None:
            raise UsageError(
                f"the correction flow needs {module}, which is not installed; "
                'pip install "isoscope[flow]"'
            )


def checked_history(history: Any) -> NDArray[np.float64]:
    """Return the likelihoods of the epochs, or refuse what no training writes.

    Training ends at the first that is not finite, so that only the last one may be NaN.
    """
    found = np.asarray(history)
    if found.ndim != 1 or found.dtype != np.float64 or not len(found):
        raise DataError("its history is not a list of numbers")
    if not np.isfinite(found[: max(1, len(found) - 1)]).all():
        raise DataError("its history holds NaN or an infinity before the last epoch")
    return found
