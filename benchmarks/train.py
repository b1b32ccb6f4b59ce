"""What calibrations cost: steps with a term beside steps without one.

The model has the shape of all-MiniLM-L6-v2 with an output matrix of 30,522 × 384; a batch has 32
texts of 64 tokens. Times do not depend on the weights, which are random.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import torch
from sides import best
from transformers import BertConfig, BertForMaskedLM

from isoscope.verbs.train.regularizers.base import Calibration
from isoscope.verbs.train.regularizers.cosreg import CosReg
from isoscope.verbs.train.regularizers.flow import FlowCalibration
from isoscope.verbs.train.regularizers.iso_score import IStar
from isoscope.verbs.train.regularizers.spectrum import SpectrumControl
from isoscope.verbs.train.trainer import calibrated_loss

TEXTS, TOKENS = 32, 64
LIMITS = {"cosreg": 1.08, "spectrum-pol": 1.15, "spectrum-exp": 1.15, "flow": 1.5}


class NaiveSpectrum:
    """Spectrum control by autograd through the singular values, for comparison."""

    name, weight = "spectrum by autograd", 1.0

    def __call__(self, matrix: torch.Tensor) -> torch.Tensor:
        """Return the term."""
        values = torch.linalg.svdvals(matrix)
        target = 1 / torch.arange(1, len(values) + 1)
        term: torch.Tensor = ((values - target) ** 2).sum()
        return term


def model() -> Any:
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    network: Any = BertForMaskedLM
    return network(config).train()


def step(network: Any, optimiser: Any, batch: Any, calibration: Calibration | None) -> None:
    optimiser.zero_grad()
    loss = network(input_ids=batch, labels=batch).loss
    if calibration is not None:
        loss = calibrated_loss(loss, calibration, network, "vocabulary")
    loss.backward()
    optimiser.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    rounds = parser.parse_args().rounds
    network = model()
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-5)
    batch = torch.randint(
        1_000, 30_000, (TEXTS, TOKENS), generator=torch.Generator().manual_seed(0)
    )
    sides: dict[str, Calibration | None] = {
        "none": None,
        "cosreg": CosReg(1e-3),
        "spectrum-pol": SpectrumControl("polynomial", 1e-3),
        "spectrum-exp": SpectrumControl("exponential", 1e-3, c2=0.1),
        "i-star": IStar(1e-3),
        "spectrum by autograd": NaiveSpectrum(),
    }
    calls = {name: partial(step, network, optimiser, batch, one) for name, one in sides.items()}
    # A flow is a part of its model, and maps in every step: it has a model of its own.
    flow, mapped = FlowCalibration(), model()
    flow.attach(mapped, "vocabulary")
    both = torch.optim.AdamW(mapped.parameters(), lr=1e-5)
    calls["flow"] = partial(step, mapped, both, batch, flow)
    best(calls, 1)  # the first round warms up
    times = best(calls, rounds)
    print(f"a step of {TEXTS} × {TOKENS} tokens, vocabulary 30,522 × 384, best of {rounds}")
    for name, seconds in times.items():
        limit = f", at most {LIMITS[name]}" if name in LIMITS else ""
        print(f"  {name:22} {seconds:7.3f} s   {seconds / times['none']:.2f} ×{limit}")


if __name__ == "__main__":
    main()
