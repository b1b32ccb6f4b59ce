"""Where the files of a run are until they are whole."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.data.location import Location
from isoscope.data.output import PREFIX, cannot_be_written
from isoscope.data.rewrite import carried_out
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isoscope.data.change import Change
    from isoscope.data.rewrite import Plan, Written


UNFINISHED = f"{PREFIX}unfinished"


@contextmanager
def unfinished_folder(out: Path) -> Iterator[str]:
    """Give out a folder within ``out``, and delete it with all that is in it.

    A worker that is ended has no time to clean up, and a run that is killed cannot: what they leave
    goes at the end of this run, or at the beginning of the next. Only one run at a time may use it.
    """
    place = out / UNFINISHED
    try:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
    except OSError as error:
        raise UsageError(cannot_be_written(place, error)) from error
    try:
        yield str(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def written_by_way_of(
    place: str, plan: Plan, change: Change, report: Callable[[int], None]
) -> Written:
    """Write a file in such a folder, and move it to where it belongs once it is whole."""
    made = Path(place) / plan.out.path.name
    one = carried_out(replace(plan, out=Location(str(made))), change, report)
    try:
        made.replace(plan.out.path)
    except OSError as error:
        raise UsageError(cannot_be_written(plan.out, error)) from error
    return replace(one, out=str(plan.out))
