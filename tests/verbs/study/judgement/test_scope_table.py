"""Every claim of every study against the models of the papers and ours: who it is about.

``scope_table.tsv`` has a line per claim: the models that it is about, and the others by reason; the
largest of these groups is called ``all others``. It was compared with the papers by hand, claim by
claim. After a change of a scope, write it again and read what changed:

    python tests/verbs/study/test_scope_table.py
    git diff tests/verbs/study/judgement/scope_table.tsv
"""

from __future__ import annotations

from pathlib import Path

from scope_for_tests import Described, described

from isoscope.results.result import Result, Row
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.scope import FACTS
from isoscope.verbs.study.judgement.verdicts import NOT_APPLICABLE
from isoscope.verbs.study.registry import Study, all_studies

HERE = Path(__file__).parent
TABLE = HERE / "scope_table.tsv"
EVERY, OTHERS = "every model", "all others"
HEAD = ("study", "claim", "is about", "is not about")


def reason(claim: Claim, study: Study, model: Described) -> str:
    """Return why a claim is not about a model; empty where it is."""
    name = model.called_in(study)
    result = Result([Row(name, "", "", "", 0.0)], extra={FACTS: {name: model.facts.to_dict()}})
    whole = claim.known_as(study.models)
    if whole.compares_models:
        if whole.meant(result):
            return ""
        return whole.about.excludes(name, model.facts) or "names other models"
    (verdict,) = claim.judge(result, study.models)
    return verdict.reason if verdict.outcome == NOT_APPLICABLE else ""


def line(study: Study, claim: Claim, models: list[Described]) -> str:
    """Return a claim, the models that it is about, and the others by reason."""
    reasons: dict[str, list[str]] = {}
    for model in models:
        reasons.setdefault(reason(claim, study, model), []).append(model.name)
    largest = max(reasons, key=lambda why: len(reasons[why]))
    said = {why: ", ".join(names) for why, names in reasons.items()}
    said[largest] = OTHERS if len(reasons) > 1 else EVERY
    about = said.pop("", "nobody")
    others = "; ".join(f"{why}: {names}" for why, names in said.items())
    return "\t".join((study.id, claim.text, about, others))


def table() -> str:
    """Return the whole table."""
    models = described()
    lines = [line(study, claim, models) for study in all_studies() for claim in study.claims]
    return "\n".join(("\t".join(HEAD), *lines)) + "\n"


def test_every_claim_is_about_the_models_that_the_table_says() -> None:
    found, written = table().splitlines(), TABLE.read_text("utf-8").splitlines()
    changed = [f"now: {one}" for one in found if one not in written]
    changed += [f"written: {one}" for one in written if one not in found]
    assert found == written, (
        "scopes changed; read them, and write the table again with "
        "python tests/verbs/study/test_scope_table.py\n" + "\n".join(changed)
    )


def test_reasons_are_three_words_at_most() -> None:
    models = described()
    reasons = {
        reason(claim, study, model)
        for study in all_studies()
        for claim in study.claims
        for model in models
    }
    assert {why for why in reasons if len(why.split()) > 3} == set()
    assert "" in reasons
    assert "names other models" in reasons


def test_every_claim_is_about_somebody() -> None:
    """A claim that no model of its own paper can be judged by would never be judged."""
    models = described()
    nobody = [
        (study.id, claim.text)
        for study in all_studies()
        for claim in study.claims
        if all(reason(claim, study, model) for model in models)
        and claim.select.get("subject") not in study.models  # such as a made cloud
    ]
    assert nobody == []


if __name__ == "__main__":
    TABLE.write_text(table(), "utf-8")
