"""What a profile is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from isoscope.corrections.registry import parse_corrections
from isoscope.data.blocks import Dealer
from isoscope.errors import UsageError, unknown_name
from isoscope.measures.context.definitions import CONTEXTUAL_MEASURES
from isoscope.measures.reads.request import Request
from isoscope.measures.registry import all_measures, choose_measures, default_measures
from isoscope.measures.views import is_view
from isoscope.models.layers import TokenRule
from isoscope.progress import Progress
from isoscope.verbs.profile.spool import LIMIT
from isoscope.wording import listed

Subwords = Literal["first", "mean", "last"]
CORRECTIONS = "none,center"
# Bytes that sums by token type and by word may take, over all layers.
GROUP_LIMIT = 2**30


@dataclass(frozen=True)
class ProfileOptions:
    """How layers are read and what is measured.

    Attributes
    ----------
    measures : str or iterable of str, optional
        Names; by default all that two reads and the context of tokens give.
    corrections : str or iterable of str
        Spaces to measure; those that two reads give without a fit.
    layers : tuple of str, optional
        Layers to look at; all by default.
    special_tokens : bool
        Whether tokens that the tokenizer adds count.
    skip_first : int
        Positions at the start of each text, special tokens among them, that do not count.
    max_norm_multiple : float, optional
        Exclude tokens with more than this many median norms of their layer.
    subwords : {"first", "mean", "last"}
        Vector of a word of several tokens.
    longest : int, optional
        Texts are truncated to this many tokens.
    budget : int, optional
        Tokens of a batch, padding included; by default what suits the device.
    spool_limit, group_limit : int
        Bytes on disk between the reads; bytes of memory for sums by token type and word.
    intervals : bool
        Whether to give 95 % intervals, over texts or documents.
    padding_rows : bool
        Whether rows of an embedding matrix beyond the vocabulary count.
    sample_texts : int, optional
        Read a random sample of this many texts instead of all.
    seed : int
        Seed of everything random.
    """

    measures: Iterable[str] | str | None = None
    corrections: Iterable[str] | str = CORRECTIONS
    layers: tuple[str, ...] | None = None
    special_tokens: bool = False
    skip_first: int = 0
    max_norm_multiple: float | None = None
    subwords: Subwords = "mean"
    longest: int | None = None
    budget: int | None = None
    spool_limit: int = LIMIT
    group_limit: int = GROUP_LIMIT
    intervals: bool = True
    padding_rows: bool = False
    sample_texts: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.subwords not in ("first", "mean", "last"):
            raise UsageError(f"subwords must be first, mean or last, got {self.subwords!r}")
        if self.max_norm_multiple is not None and self.max_norm_multiple <= 1:
            raise UsageError(f"max-norm-multiple must be above 1, got {self.max_norm_multiple}")
        for name in ("seed", "spool_limit", "group_limit"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name.replace('_', '-')} must be at least 0")
        if self.sample_texts is not None and self.sample_texts < 1:
            raise UsageError(f"at least one text must be read, got {self.sample_texts}")
        if self.budget is not None and self.budget < 1:
            raise UsageError(f"a batch must hold at least one token, got {self.budget}")
        if self.longest is not None and self.longest < 1:
            raise UsageError(f"at least one token of a text must be read, got {self.longest}")
        self.chosen  # noqa: B018  names are looked up before a model is loaded
        self.request(None)

    @property
    def rule(self) -> TokenRule:
        """Which tokens count."""
        return TokenRule(self.special_tokens, self.skip_first)

    @property
    def chosen(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Measures of spaces, and measures of context."""
        context = [item.name for item in CONTEXTUAL_MEASURES]
        default = [item.name for item in default_measures()]
        names = listed(self.measures, [*default, *context])
        if "all" in names:
            names = [item.name for item in all_measures() if "clusters" not in item.needs]
            names += context
        own = tuple(name for name in context if name in names)
        rest = [name for name in names if name not in own]
        try:
            found = tuple(item.text for item in choose_measures(rest)) if rest else ()
        except UsageError:
            known = {item.name for item in all_measures()} | set(context)
            for name in rest:
                if name.split(":")[0] not in known:
                    raise unknown_name("measure", name, sorted(known)) from None
            raise
        return found, own

    def request(self, progress: Progress | None) -> Request:
        """Return which sums the measures of spaces take."""
        names, context = self.chosen
        corrections = parse_corrections(listed(self.corrections, ()))
        for correction in corrections:
            if not is_view(correction.text):
                raise UsageError(
                    "profile measures only none, center, all-but-the-top and whiten, not "
                    f"{correction.text}; in Python, isoscope.measure takes "
                    "isoscope.models.layers.LayerClouds and any correction"
                )
        # The mean cosine of a layer is what the measures of context are corrected by.
        needed = ["mean_cosine", *(["outlier_dimensions"] if "persistence" in context else [])]
        items = choose_measures([*names, *needed])
        for item in items:
            if "clusters" in item.needs:
                raise UsageError(f"profile does not measure {item.name}, which needs many reads")
        dealer = Dealer() if self.intervals else None
        return Request(items, corrections, False, dealer, self.seed, progress)

    def configuration(self) -> dict[str, Any]:
        """Return everything that decides the numbers, for a journal."""
        values = asdict(self)
        del values["measures"], values["corrections"]
        names, context = self.chosen
        corrections = [item.text for item in self.request(None).corrections]
        return {**values, "measures": [*names, *context], "corrections": corrections}


# Options that say nothing about weights.
OF_LAYERS = (
    "layers", "special_tokens", "skip_first", "max_norm_multiple", "subwords", "longest",
    "sample_texts",
)  # fmt: skip


def refuse_of_layers(options: ProfileOptions, **others: str | None) -> None:
    """Refuse options and measures that are about a text where there is none."""
    plain = ProfileOptions()
    given = [name for name in OF_LAYERS if getattr(options, name) != getattr(plain, name)]
    given += [name for name, value in others.items() if value is not None]
    if options.measures is not None:
        given += [f"measure {name}" for name in options.chosen[1]]
    if given:
        raise UsageError(
            f"{given[0].replace('_', '-')} is about layers or their texts; add --text, without "
            "which only weights are measured"
        )
