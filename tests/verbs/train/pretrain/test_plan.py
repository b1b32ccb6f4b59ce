"""What a plan refuses, when it keeps checkpoints, and how its rate goes up and down."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from isoscope.errors import UsageError
from isoscope.verbs.study.reference import printed_table

pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.verbs.train.pretrain.plan import SIZES, Plan, Size

PRINTED = {
    "layers": "layers", "hidden_size": "width", "ffn_size": "feed_forward",
    "attention_heads": "heads", "dropout": "dropout", "warmup_steps": "warm_up",
    "max_steps": "steps", "learning_rate": "learning_rate", "batch_size": "batch_size",
    "weight_decay": "weight_decay", "adam_epsilon": "epsilon", "adam_beta2": "beta_2",
    "gradient_clipping": "clipping",
}  # fmt: skip
"""What table 3.1 of Luo (2021) calls the fields of a size."""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objective": "nsp"}, "no objective is called 'nsp'.* clm, mlm"),
        ({"size": "tyni"}, "no size is called 'tyni'; did you mean tiny"),
        ({"positions": "alibi"}, "no kind of positions is called 'alibi'"),
        ({"final_norm": "rms"}, "no final norm is called 'rms'.* rmsnorm"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"steps": -3}, "steps must be at least 1, got -3"),
        ({"changed": {"steps": 0}}, "steps must be at least 1, got 0"),
        ({"steps": 4, "checkpoints": 5}, "1 to 4 checkpoints in 4 steps, not 5"),
        ({"checkpoints": 0}, "checkpoints in 1500 steps, not 0"),
        ({"changed": {"layers": 0}}, "layers must be at least 1, got 0"),
        ({"changed": {"width": 0}}, "width must be at least 1, got 0"),
        ({"changed": {"heads": 0}}, "heads must be at least 1, got 0"),
        ({"changed": {"vocabulary": 0}}, "vocabulary must be at least"),
        ({"changed": {"batch_size": 0}}, "batch_size must be at least 1, got 0"),
        ({"changed": {"feed_forward": 0}}, "feed_forward must be at least 1, got 0"),
        ({"changed": {"context": 1}}, "at least 2 tokens, got 1"),
        ({"changed": {"learning_rate": 0.0}}, "a learning rate must be above 0, got 0.0"),
        ({"changed": {"learning_rate": -1e-3}}, "a learning rate must be above 0"),
        ({"changed": {"learning_rate": float("nan")}}, "a learning rate must be above 0, got nan"),
        ({"changed": {"heads": 3}}, "3 heads do not divide a width of 128"),
        ({"seed": -1}, "seed"),
        ({"changed": {"wide": 3}}, "wide"),
        ({"changed": {"dropout": 1.5}}, "dropout"),
        (
            {"positions": "rotary", "changed": {"width": 9, "heads": 3}},
            "rotary positions turn pairs .* even width",
        ),
    ],
)
def test_refusals(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        Plan(**given)
    assert len(str(refused.value).splitlines()) == 1


def test_an_odd_width_of_heads_is_fine_where_nothing_turns() -> None:
    assert Plan(positions="none", changed={"width": 9, "heads": 3}).shape.width == 9


def test_checkpoints_are_kept_at_even_distances() -> None:
    assert Plan(steps=10, checkpoints=5).kept_steps == (0, 2, 4, 6, 8, 10)
    assert Plan(steps=10, checkpoints=3).kept_steps == (0, 3, 7, 10)
    assert Plan(steps=7, checkpoints=1).kept_steps == (0, 7)
    assert Plan().kept_steps == (0, 300, 600, 900, 1_200, 1_500)


def test_there_are_as_many_checkpoints_as_were_asked_for() -> None:
    for steps in range(1, 40):
        for checkpoints in range(1, steps + 1):
            kept = Plan(steps=steps, checkpoints=checkpoints).kept_steps
            assert len(set(kept)) == checkpoints + 1
            assert list(kept) == sorted(kept)
            assert (kept[0], kept[-1]) == (0, steps)


@pytest.mark.parametrize("warm_up", [0, 7, 10_000])
@pytest.mark.parametrize("steps", [1, 2, 9, 10, 200])
def test_the_rate_rises_and_then_falls_to_nearly_nothing(steps: int, warm_up: int) -> None:
    plan = Plan(steps=steps, checkpoints=1, changed={"warm_up": warm_up, "learning_rate": 0.5})
    rates = [plan.rate(step) for step in range(steps)]
    warm = min(warm_up, steps // 10)
    assert all(0 < rate <= 0.5 for rate in rates)
    assert rates.index(max(rates)) == warm
    assert rates[warm] == 0.5
    assert rates[: warm + 1] == sorted(rates[: warm + 1])
    assert rates[warm:] == sorted(rates[warm:], reverse=True)
    # Lines: all steps up are of one height, and all steps down, the one to 0 behind the end too.
    assert rates[:warm] == pytest.approx([0.5 * (k + 1) / (warm + 1) for k in range(warm)])
    assert rates[warm:] == pytest.approx(
        [0.5 * (1 - k / (steps - warm)) for k in range(steps - warm)]
    )
    assert plan.rate(steps) == 0


def test_facts_hold_all_that_decides_a_training() -> None:
    plan = Plan("mlm", "mini", "none", False, "rmsnorm", 20, 4, 7, {"dropout": 0.3})
    facts = plan.to_facts()
    # The name of the size says no more than its fields do, of which some may be changed.
    own = {field.name for field in fields(Plan)} - {"size", "changed"}
    assert set(facts) == own | {field.name for field in fields(Size)}
    assert facts["steps"] == 20
    assert facts["dropout"] == 0.3
    assert facts["width"] == 256
    assert json.loads(json.dumps(facts)) == facts


@pytest.mark.parametrize(
    "other",
    [
        {"objective": "mlm"}, {"size": "mini"}, {"positions": "none"}, {"tie": False},
        {"final_norm": "rmsnorm"}, {"steps": 500}, {"checkpoints": 4}, {"seed": 1},
        {"changed": {"clipping": 1.0}}, {"changed": {"steps": 500}},
    ],
)  # fmt: skip
def test_another_plan_has_other_facts(other: dict[str, Any]) -> None:
    assert Plan(**other).to_facts() != Plan().to_facts()


def test_what_is_changed_is_no_other_plan_where_it_comes_to_the_same() -> None:
    assert Plan(steps=1_500).to_facts() == Plan().to_facts()
    assert Plan(changed={"width": 128}).to_facts() == Plan().to_facts()


def test_words_name_objective_and_architecture() -> None:
    words = Plan("mlm", positions="none", tie=False, final_norm="rmsnorm").words
    assert words == "mlm, none positions, untied, rmsnorm"
    assert "tied" in Plan().words.split(", ")


@pytest.mark.parametrize("name", SIZES)
def test_every_size_is_a_plan(name: str) -> None:
    plan = Plan(size=name, positions="rotary")
    assert plan.shape == SIZES[name]
    assert plan.length == SIZES[name].steps


def test_the_size_of_the_paper_is_that_of_its_table() -> None:
    printed = {
        row["hyper_parameter"]: row["value"]
        for row in printed_table("luo2021_table3.1_pretraining")
    }
    size = SIZES["paper"]
    for name, field in PRINTED.items():
        assert getattr(size, field) == float(printed.pop(name)), name
    assert size.width / size.heads == float(printed.pop("head_size"))
    # A polynomial of the first degree; the paper names no other. β₁ is tested with the optimiser.
    assert printed.pop("decay") == "polynomial"
    assert float(printed.pop("adam_beta1")) == 0.9
    results = ("validation_perplexity", "share_of_vectors")
    assert [name for name in printed if not name.startswith(results)] == []
