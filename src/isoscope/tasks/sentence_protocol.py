"""How texts become vectors, and what corrections of them are fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isoscope.errors import UsageError
from isoscope.tasks.probes.naming import find_probe

if TYPE_CHECKING:
    from isoscope.compute.vector_cache import VectorCache
    from isoscope.tasks.probes.contract import Probe


DEFAULT_PROBE = "logistic"
ISOTROPY = ("mean_cosine", "i1_scaled")


@dataclass(frozen=True)
class SentenceProtocol:
    """All that decides a score on texts but model, task and correction.

    Attributes
    ----------
    layers : str or sequence of str
        ``last``, ``all``, or names of layers.
    pooling : {"mean", "cls", "last", "max"}
        How the tokens of a text become one vector.
    special_tokens : bool
        Whether tokens that the tokenizer adds count.
    correct_at : {"sentence", "token"}
        Whether pooled vectors are corrected, or tokens before they are pooled.
    fit_on : str, Path or list of str, optional
        Texts to fit corrections on; by default the task's own train split. Texts that are scored
        are left out of them.
    transductive : bool
        Fit on the texts that are scored, as papers do.
    longest : int, optional
        Tokens of a text beyond this are cut off.
    cache : VectorCache or bool
        Where vectors are kept between calls; False keeps none.
    isotropy : sequence of str
        Measures of the sentence vectors that are given beside the scores.
    probe : {"logistic", "mlp"}, optional
        What learns to classify; ``logistic`` by default. Word senses are told apart by a threshold
        of the cosine unless a probe is named.
    epochs : bool
        Whether the score after every epoch is wanted, for a probe that learns in epochs.
    revision, dtype, device
        As ``open_model`` takes them.
    seed : int
        Of the tokens that some corrections are fitted on.
    """

    layers: str | Sequence[str] = "last"
    pooling: str = "mean"
    special_tokens: bool = True
    correct_at: Literal["sentence", "token"] = "sentence"
    fit_on: Any = None
    transductive: bool = False
    longest: int | None = None
    cache: VectorCache | bool = True
    isotropy: Sequence[str] = ISOTROPY
    probe: str | None = None
    epochs: bool = False
    revision: str | None = None
    dtype: Any = None
    device: Any = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.probe is not None:
            find_probe(self.probe)
        if self.epochs and self.probe != "mlp":
            raise UsageError("scores after every epoch are those of the probe mlp; name it")
        if self.transductive and self.fit_on is not None:
            raise UsageError(
                "corrections are fitted on the scored texts (transductive) or on others (fit_on), "
                "not both"
            )

    @property
    def classifier(self) -> Probe:
        """What learns to classify."""
        return find_probe(self.probe or DEFAULT_PROBE, self.seed)

    @property
    def names_fit(self) -> bool:
        """Whether it says what corrections are fitted on, rather than the task."""
        return self.transductive or self.fit_on is not None
