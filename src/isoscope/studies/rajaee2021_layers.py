"""Rajaee & Pilehvar (2021), appendix: how isotropic the layers of a model are.

All layers behind the input are far from isotropic; where along the depth is another story for each
model.
"""

from __future__ import annotations

from dataclasses import replace

from isoscope.results.result import Result
from isoscope.studies.claims import Claim
from isoscope.studies.last_layer import LAST
from isoscope.studies.layers import ORDINARY, numbered_profiles
from isoscope.studies.rajaee2021 import PAPER
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.scale_tables import TOKENS
from isoscope.studies.texts import STS_B

GPT_2, BERT, ROBERTA = "GPT-2|gpt2", "BERT|bert-base-uncased", "RoBERTa|roberta-base"
MODELS = (GPT_2, BERT, ROBERTA)
INPUT = {"part": "layer 0"}


def table_5(request: Request) -> Result:
    """I1 of every layer; tokens that the tokenizer adds are left out, a decoder's first is in."""
    result = numbered_profiles(request, "i1,mean_norm", intervals=False)
    rows = [replace(row, protocol=f"{row.protocol}; first tokens in") for row in result.rows]
    return replace(result, rows=rows)


def figure_1(request: Request) -> Result:
    """I1 of every layer, with the last one called so."""
    result = table_5(request)
    rows = []
    for row in result.rows:
        last = f"layer {highest(result, row.subject)}"
        rows.append(replace(row, part=LAST) if row.part == last else row)
    return replace(result, rows=rows)


def highest(result: Result, subject: str) -> int:
    """Return the number of a model's last layer."""
    numbers = (
        row.part.removeprefix("layer ")
        for row in result.rows
        if row.subject == subject and row.part.startswith("layer ")
    )
    return max(int(number) for number in numbers if number.isdecimal())


def printed_table_5() -> dict[Key, float]:
    """Return the table as printed."""
    return {
        (model, f"layer {row['layer']}", "none", "i1"): float(row[model])
        for row in printed_table("rajaee2021_table5_layer_isotropy")
        for model in ("GPT-2", "BERT", "RoBERTa")
    }


def printed_figure_1() -> dict[Key, float]:
    """Return the same numbers, with the last layer called so."""
    return {
        (model, LAST if part == "layer 12" else part, correction, measure): value
        for (model, part, correction, measure), value in printed_table_5().items()
    }


I1 = {"measure": "i1", "part": "layer *"}
NEED = "models (a hub id, a folder or a .gguf file) and a text, the paper's being STS-B dev"

register(
    Study(
        "R-T5", "Isotropy of every layer over a text",
        PAPER + ", table 5", NEED, table_5,
        (
            Claim("every layer but the input has an I1 below 1e-4",
                  I1, {}, "<", 1e-4, excluding=(INPUT, ORDINARY)),
            Claim("BERT is above RoBERTa in every layer but the input",
                  I1, {"subject": BERT}, ">", {"subject": ROBERTA}, excluding=(INPUT, ORDINARY)),
            Claim("the input layer of GPT-2 is more isotropic than that of BERT and of RoBERTa",
                  {"measure": "i1", "part": "layer 0"}, {"subject": GPT_2}, ">",
                  {"subject": f"{BERT}|{ROBERTA}"}),
        ),
        MODELS, printed_table_5, text=STS_B, scales=TOKENS,
    )
)  # fmt: skip
register(
    Study(
        "R-F1", "Isotropy along the depth of a model",
        PAPER + ", figure 1", NEED, figure_1,
        (
            Claim("RoBERTa's last layer is its most isotropic one behind the input",
                  {"measure": "i1", "subject": ROBERTA}, {"part": LAST}, ">", {"part": "layer *"},
                  excluding=(INPUT, ORDINARY)),
        ),
        MODELS, printed_figure_1, text=STS_B, scales=TOKENS,
    )
)  # fmt: skip
