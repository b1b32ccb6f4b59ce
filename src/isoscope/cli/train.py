"""``isoscope train``: models fine-tuned with calibrations, and small ones trained from nothing."""

from __future__ import annotations

import typer

from isoscope.cli import ablate, finetune, pretrain

train_app = typer.Typer(help="Train models: with isotropy as part of the loss, or from nothing.")


@train_app.callback(invoke_without_command=True)
def choose(context: typer.Context) -> None:
    """Train models: with isotropy as part of the loss, or from nothing."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


train_app.command("finetune", epilog=finetune.EXAMPLES)(finetune.finetune_command)
train_app.command("pretrain", epilog=pretrain.EXAMPLES)(pretrain.pretrain_command)
train_app.command("ablate", epilog=ablate.EXAMPLES)(ablate.ablate_command)
