"""Descriptions of the papers' models and of ours, for tests of what claims are about."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from isoscope.verbs.study.judgement.scope import Facts, is_called
from isoscope.verbs.study.registry import Study

MODELS = Path(__file__).parent / "verbs" / "study" / "judgement" / "scope_models.toml"


@dataclass(frozen=True)
class Described:
    """A model by its names, with what is known about it."""

    name: str
    names: tuple[str, ...]
    facts: Facts
    ours: bool

    def called_in(self, study: Study) -> str:
        """Return the name by which a paper knows it, or its own."""
        known = (name for name in self.names if any(is_called(m, name) for m in study.models))
        return next(known, self.name)


def described() -> list[Described]:
    """Read the descriptions of all models."""
    stored = tomllib.loads(MODELS.read_text("utf-8"))
    return [
        Described(
            name, (name, *one.get("names", ())), Facts.of(one["facts"]), one.get("ours", False)
        )
        for name, one in stored.items()
    ]
