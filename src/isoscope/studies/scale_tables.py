"""What the studies of each paper take at each scale.

``mini`` is what comes from a package registry or is trained in minutes; ``paper`` has the models
that the paper names, by the names that its tables give them.
"""

from __future__ import annotations

from isoscope.studies.from_nothing import PREFIX
from isoscope.studies.scales import MINI, PAPER, Scale

GLOVE, MINILM, SMOLLM2 = "package:glove", "package:minilm", "package:smollm2"
TINY = f"{PREFIX}tiny"

BERT_MODELS = (
    "BERT-base-cased=bert-base-cased", "BERT-base-uncased=bert-base-uncased",
    "BERT-large-cased=bert-large-cased", "BERT-large-uncased=bert-large-uncased",
)  # fmt: skip
ROBERTA_MODELS = ("RoBERTa-base=roberta-base", "RoBERTa-large=roberta-large")

MATRICES = {
    MINI: Scale((GLOVE, MINILM, SMOLLM2)),
    PAPER: Scale(
        (*BERT_MODELS, *ROBERTA_MODELS, "GPT-2 (12 layers)=gpt2", "GPT-2 (24 layers)=gpt2-medium")
    ),
}
SPECTRA = {
    MINI: Scale((GLOVE, MINILM, SMOLLM2)),
    PAPER: Scale(("RoBERTa-large=roberta-large", "GPT-2 (12 layers)=gpt2")),
}
WORDS = {
    MINI: Scale((GLOVE, MINILM), {"lowercase": True}),
    PAPER: Scale(("BERT-base-cased=bert-base-cased", "BERT-large-cased=bert-large-cased")),
}
"""The byte-level models of the paper need --prefix Ġ, and so a run of their own."""

UNUSED = {MINI: Scale((MINILM,)), PAPER: Scale(("BERT-base-uncased=bert-base-uncased",))}
COVERAGE = {MINI: Scale((MINILM,)), PAPER: Scale(("BERT=bert-base-cased",))}
SHIFTED = {MINI: Scale((TINY,)), PAPER: Scale()}

RAJAEE_MODELS = ("GPT-2=gpt2", "BERT=bert-base-uncased", "RoBERTa=roberta-base")
TOKENS = {MINI: Scale((MINILM,)), PAPER: Scale(RAJAEE_MODELS)}
PROBES = {
    MINI: Scale((MINILM,), {"tasks": "rte,mrpc"}),
    PAPER: Scale(("BERT=bert-base-uncased",)),
}
CONVERGENCE = {MINI: Scale((MINILM,), {"tasks": "rte"}), PAPER: Scale(("BERT=bert-base-uncased",))}

BASE_MODELS = ("BERT-base=bert-base-cased", "RoBERTa-base=roberta-base")
LUO_BASE = {MINI: Scale((MINILM,)), PAPER: Scale(BASE_MODELS)}
LUO = {
    MINI: Scale((MINILM,)),
    PAPER: Scale(
        (
            *BASE_MODELS, "BERT-distil=distilbert-base-cased",
            "RoBERTa-distil=distilroberta-base",
            "BERT-large=bert-large-cased", "RoBERTa-large=roberta-large",
        )
    ),
}  # fmt: skip

PYTHIA_MODELS = tuple(
    f"Pythia-{size}=EleutherAI/pythia-{size.lower()}"
    for size in ("70M", "160M", "410M", "1B", "1.4B", "2.8B", "6.9B", "12B")
)
OTHER_DECODERS = (
    "OPT-6.7B=facebook/opt-6.7b", "Falcon-7B=tiiuae/falcon-7b",
    "GPT-NeoX-20B=EleutherAI/gpt-neox-20b",
)  # fmt: skip
DECODERS = {MINI: Scale((MINILM, SMOLLM2), {"sample": 150}), PAPER: Scale(PYTHIA_MODELS)}
UNEMBEDDINGS = {MINI: Scale((SMOLLM2,)), PAPER: Scale((*PYTHIA_MODELS, *OTHER_DECODERS))}
"""MiniLM was saved without an unembedding."""

LAST_NORMS = {MINI: Scale((MINILM, SMOLLM2)), PAPER: Scale((*PYTHIA_MODELS, *OTHER_DECODERS))}
EVERY_STEP = {"revisions": "step*", "every": "log"}
"""Which steps the paper took is not said beyond their number, 21; doubled steps give 22 of 154."""

SMALL_TRAININGS = {
    MINI: Scale((TINY,), {"sample": 300}),
    PAPER: Scale((PYTHIA_MODELS[0], PYTHIA_MODELS[2]), EVERY_STEP),
}
ALL_TRAININGS = {
    MINI: Scale((TINY,)),
    PAPER: Scale((PYTHIA_MODELS[0], PYTHIA_MODELS[2], PYTHIA_MODELS[6]), EVERY_STEP),
}
ACCURACIES = {
    MINI: Scale((TINY,), {"tasks": "trec,mrpc,cr"}),
    PAPER: Scale((PYTHIA_MODELS[0], PYTHIA_MODELS[2]), EVERY_STEP),
}
