"""Calibrations by name, and what is refused."""

from __future__ import annotations

import pytest

from isoscope.errors import UsageError

pytest.importorskip("torch")

from isoscope.verbs.train.regularizers.cosreg import CosReg
from isoscope.verbs.train.regularizers.iso_score import IStar
from isoscope.verbs.train.regularizers.registry import make_calibration, used_options
from isoscope.verbs.train.regularizers.spectrum import SpectrumControl


def test_names() -> None:
    assert make_calibration("none") is None
    assert make_calibration(" cosreg ") == CosReg()
    assert make_calibration("cosreg:weight=2.5") == CosReg(2.5)
    assert isinstance(make_calibration("i-star"), IStar)
    assert make_calibration("spectrum-exp:c1=0.1:weight=10") == SpectrumControl(
        "exponential", weight=10, c1=0.1
    )


@pytest.mark.parametrize("name", ["cosreg", "i-star", "spectrum-pol", "spectrum-exp"])
def test_what_is_made_is_called_as_it_was_asked_for(name: str) -> None:
    calibration = make_calibration(name)
    assert calibration is not None
    assert calibration.name == name
    used = used_options(calibration)
    assert "weight" in used
    again = ":".join([name, *(f"{option}={value}" for option, value in used.items())])
    assert used_options(make_calibration(again)) == used


def test_no_calibration_has_no_options() -> None:
    assert used_options(None) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cosrag", "no calibration is called 'cosrag'; did you mean cosreg"),
        ("cosreg:wieght=2", "no option of cosreg is called 'wieght'; did you mean weight"),
        ("cosreg:c1=2", "no option of cosreg is called 'c1'"),
        ("cosreg:weight", "write weight=VALUE"),
        ("none:weight=2", "no option of none is called 'weight'"),
        ("cosreg:weight=-1", "a weight must be at least 0, got -1"),
        ("", "no calibration is called ''"),
    ],
)
def test_wrong_names(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        make_calibration(text)
    assert said in str(raised.value)
