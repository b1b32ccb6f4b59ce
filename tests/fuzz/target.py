"""What a target of the fuzzer is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fuzz.mutations import Files, Mutator, changed_bytes, spliced


@dataclass(frozen=True)
class Target:
    """Something that reads what a stranger may have made.

    Attributes
    ----------
    name : str
        What it is called in records.
    seeds : callable
        Returns real inputs: files by their names.
    read : callable
        Reads a folder with these files. It returns a word that tells outcomes apart, and raises
        ``IsoscopeError`` for what it refuses; an ``AssertionError`` is a wrong answer.
    mutators : dict
        By ending of a file, how its structure is changed.
    needs : tuple of str
        Packages without which it is skipped.
    tiny : int
        Cases of a run in the test suite.
    """

    name: str
    seeds: Callable[[], list[Files]]
    read: Callable[[Path], object]
    mutators: dict[str, Mutator] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    tiny: int = 200

    def mutated(self, files: Files, others: list[Files], random: Random) -> Files:
        """Change one of the files, sometimes two."""
        changed = dict(files)
        for _ in range(random.choice((1, 1, 1, 2))):
            name = random.choice(sorted(changed))
            kind = random.random()
            mutator = next((one for end, one in self.mutators.items() if name.endswith(end)), None)
            if kind < 0.65 and mutator is not None:
                try:
                    changed[name] = mutator(changed[name], random)
                except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                    # A case whose structure earlier mutations destroyed.
                    changed[name] = changed_bytes(changed[name], random)
            elif kind < 0.95:
                changed[name] = changed_bytes(changed[name], random)
            else:
                other = random.choice(others)
                changed[name] = spliced(changed[name], other.get(name, b""), random)
        return changed
