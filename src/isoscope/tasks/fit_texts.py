"""Which texts a correction of sentence vectors is fitted on: not those that it is scored on.

A correction sees no human score, but it does see the texts: fitted on those that are scored
(*transductive*), it knows their mean and their spectrum, which a deployed one does not. Papers do
it; here it has to be asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.errors import UsageError
from isoscope.measures.registry import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HOW = "name other texts to fit on, or allow it with --transductive (transductive=True)"


@dataclass(frozen=True)
class FitTexts:
    """Texts to fit on.

    Attributes
    ----------
    texts : tuple of str
        The distinct texts.
    source : str
        Where they come from, for the protocol.
    transductive : bool
        Whether they may be those that are scored.
    left_out : int
        Texts of the source that are not among them because they are scored.
    together : bool
        Whether they belong to what is scored and are known before anything is asked of it: the
        documents of a search, not its queries.
    """

    texts: tuple[str, ...]
    source: str
    transductive: bool = False
    left_out: int = 0
    together: bool = False

    @classmethod
    def scored(cls, texts: Iterable[str], unit: str = "pairs") -> FitTexts:
        """Fit on the texts that are scored."""
        return cls(tuple(dict.fromkeys(texts)), f"the texts of all scored {unit}", True)

    @classmethod
    def apart(cls, texts: Iterable[str], source: str, scored: Iterable[str]) -> FitTexts:
        """Fit on other texts; those of them that are scored are left out."""
        distinct, held_back = dict.fromkeys(texts), set(scored)
        kept = tuple(text for text in distinct if text not in held_back)
        if not kept:
            reason = "holds no text" if not distinct else "holds no text that is not scored"
            raise UsageError(f"{source} {reason}; {HOW}")
        return cls(kept, source, False, len(distinct) - len(kept))

    def check(self, scored: Sequence[str]) -> None:
        """Refuse a fit on what is scored, unless it was asked for."""
        if self.transductive or self.together:
            return
        shared = set(self.texts) & set(scored)
        if shared:
            raise UsageError(
                f"{counted(len(shared), 'text')} of {self.source} would be fitted on and scored; "
                f"{HOW}"
            )

    def describe(self, level: str, folds: int = 1) -> str:
        """Return what a protocol says of the fit, or of the first of several."""
        of = "all tokens" if level == "token" else "the sentence vectors"
        out = f", scored ones left out: {self.left_out:,}" if self.left_out else ""
        first = " in the first fold" if folds > 1 else ""
        how = ", transductive" if self.transductive else ""
        return (
            f"corrections fitted on {of} of {self.source} "
            f"({counted(len(self.texts), 'distinct text')}{first}{out}){how}"
        )
