"""Which models claims are about, and what opened models say about themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_models import ARCHITECTURES, save_tiny_model

from isoscope.models.model import open_model
from isoscope.verbs.study.judgement.scope import (
    ANY_CLOUD,
    ANY_TRANSFORMER,
    ANYTHING,
    MADE,
    OWN,
    VECTORS,
    Facts,
    Scope,
    describe_model,
    goes_by,
    named,
)

transformers = pytest.importorskip("transformers")

SMOL = Facts(
    "transformer", "llama", "causal", 135_000_000, True, ("rotary",), True, False, "RMSNorm"
)


@pytest.mark.parametrize(
    ("scope", "reason"),
    [
        (Scope(), ""),
        (Scope(families=("llama", "gpt2")), ""),
        (Scope(families=("bert",)), "of another family"),
        (Scope(objectives=("causal",)), ""),
        (Scope(objectives=("masked",)), "causal model"),
        (Scope(positions=("learned",)), "no learned positions"),
        (Scope(positions=("learned", "relative")), "no such positions"),
        (Scope(positions=("learned", "rotary")), ""),
        (Scope(smallest=410_000_000), "too small"),
        (Scope(smallest=135_000_000, largest=135_000_000), ""),
        (Scope(largest=100_000_000), "too large"),
        (Scope(unembedding=True), ""),
        (Scope(unembedding=False), "has an unembedding"),
        (Scope(tied=True), ""),
        (Scope(tied=False), "tied matrices"),
        (Scope(sentence_encoder=True), "no sentence encoder"),
        (Scope(sentence_encoder=False), ""),
        (Scope(final_norm="LayerNorm"), "another final norm"),
        (Scope(models=("GPT-2", "SmolLM2|smol*")), ""),
        (named("GPT-2"), "names other models"),
        (Scope(but=("smollm2",)), "excepted by name"),
        (OWN, "a given model"),
    ],
)
def test_a_model_is_in_scope_or_not_for_a_reason(scope: Scope, reason: str) -> None:
    assert scope.excludes("SmolLM2", SMOL) == reason
    assert len(reason.split()) <= 3


def test_other_facts_make_other_reasons() -> None:
    untied = replace(SMOL, tied=False)
    assert Scope(tied=True).excludes("x", untied) == "matrices not tied"
    headless = replace(SMOL, tied=None, unembedding=False, sentence_encoder=True)
    assert Scope(tied=True).excludes("x", headless) == "has no unembedding"
    assert Scope(unembedding=True).excludes("x", headless) == "has no unembedding"
    assert Scope(sentence_encoder=False).excludes("x", headless) == "a sentence encoder"
    unused = Scope(unused_tokens=True)
    assert unused.excludes("x", replace(SMOL, unused_tokens=False)) == "no unused tokens"
    assert unused.excludes("x", replace(SMOL, unused_tokens=True)) == ""
    assert unused.excludes("x", SMOL) == ""  # nobody looked


def test_kinds_of_subjects() -> None:
    assert ANY_TRANSFORMER.excludes("glove", VECTORS) == "not a transformer"
    assert ANY_TRANSFORMER.excludes("run", MADE) == "made by isoscope"
    assert ANY_CLOUD.excludes("glove", VECTORS) == ""
    assert ANY_CLOUD.excludes("run", MADE) == "made by isoscope"
    assert {ANYTHING.excludes("x", facts) for facts in (VECTORS, MADE, SMOL)} == {""}
    assert OWN.excludes("run", MADE) == ""
    # What a study makes itself is such a model, whatever else is asked.
    both = Scope(kinds=("made", "transformer"), objectives=("masked",))
    assert both.excludes("run", MADE) == ""


def test_a_model_that_nobody_looked_at_is_not_excluded_by_structure() -> None:
    unknown = Facts("transformer")
    scope = Scope(objectives=("masked",), smallest=10)
    assert unknown.is_unknown
    assert not SMOL.is_unknown
    assert not VECTORS.is_unknown
    assert scope.needs_structure
    assert scope.excludes("x", unknown) == ""
    assert not ANY_CLOUD.needs_structure
    assert not replace(scope, models=("x",)).needs_structure
    assert Scope(tied=False).needs_structure


def test_names_may_have_stars_and_any_case() -> None:
    assert goes_by("BERT-*-cased", "bert-base-cased")
    assert not goes_by("BERT-*-cased", "bert-base-uncased")
    assert goes_by("GPT-2|gpt2", "GPT2")


def test_facts_go_into_a_result_and_back() -> None:
    assert Facts.of(SMOL.to_dict()) == SMOL
    assert Facts.of({**SMOL.to_dict(), "later": 1}) == SMOL
    assert Facts.of({}) == VECTORS


MASKED = {"bert", "roberta", "distilbert", "mpnet"}
SEQ2SEQ = {"bart", "mbart", "t5"}
POSITIONS = {
    "mpnet": ("learned", "relative"), "t5": ("relative",), "gpt-neox": ("rotary",),
    "falcon": ("rotary",), "llama": ("rotary",),
}  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tiny")
    return {name: save_tiny_model(name, folder / name) for name in ARCHITECTURES}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_what_an_opened_model_says(name: str, tiny: dict[str, Path]) -> None:
    facts = describe_model(open_model(tiny[name]))
    objective = (
        "masked" if name in MASKED else "encoder-decoder" if name in SEQ2SEQ else "causal"
    )  # fmt: skip
    assert (facts.kind, facts.objective) == ("transformer", objective)
    assert facts.family == transformers.AutoConfig.from_pretrained(tiny[name]).model_type
    assert facts.tied is (name != "gpt-neox")
    assert facts.positions == POSITIONS.get(name, ("learned",))
    assert facts.unembedding
    assert not facts.sentence_encoder
    assert facts.unused_tokens is any(
        token.startswith("[unused")
        for token in transformers.AutoTokenizer.from_pretrained(tiny[name]).get_vocab()
    )
    assert facts.final_norm == ("RMSNorm" if name in ("llama", "t5") else "LayerNorm")
    assert facts.quantisation == "none"


def stored_numbers(network: Any) -> int:
    """Count each tensor once, tied ones too."""
    return sum(tensor.numel() for tensor in {id(t): t for t in network.parameters()}.values())


@pytest.mark.parametrize("name", ["gpt2", "gpt-neox", "llama", "opt", "falcon"])
def test_parameters_are_those_of_the_whole_model(name: str, tiny: dict[str, Path]) -> None:
    network = transformers.AutoModelForCausalLM.from_pretrained(tiny[name])
    assert describe_model(open_model(tiny[name])).parameters == stored_numbers(network)


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_a_network_without_its_head_is_of_the_same_objective(
    name: str, tiny: dict[str, Path], tmp_path: Path
) -> None:
    whole = describe_model(open_model(tiny[name]))
    network = transformers.AutoModel.from_pretrained(tiny[name])
    network.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(tiny[name]).save_pretrained(tmp_path)
    bare = describe_model(open_model(tmp_path))
    assert bare.objective == whole.objective
    assert (bare.unembedding, bare.tied) == (False, None)
