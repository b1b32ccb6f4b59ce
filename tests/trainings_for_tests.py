"""Tiny trainings: folders of checkpoints, and a hub that serves them without a network."""

from __future__ import annotations

import hashlib
import shutil
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import load_file, save_file

WEIGHTS = "model.safetensors"


def save_checkpoint(base: Path, folder: Path, noise: float) -> Path:
    """Copy a model and move all its weights by the same noise, times a factor."""
    shutil.copytree(base, folder)
    generator = torch.Generator().manual_seed(1)
    tensors = {
        name: values + noise * torch.randn(values.shape, generator=generator)
        for name, values in sorted(load_file(base / WEIGHTS).items())
    }
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    return folder


def save_training(base: Path, folder: Path, noises: dict[str, float]) -> Path:
    """Save a checkpoint of each name, in an order that is not that of training."""
    folder.mkdir(parents=True)
    for name in sorted(noises, reverse=True):
        save_checkpoint(base, folder / name, noises[name])
    return folder


class FakeHub:
    """One model whose branches are subfolders, and tags that stand for branches."""

    def __init__(self, folder: Path, tags: dict[str, str] | None = None) -> None:
        self.folder, self.tags = folder, tags or {}
        self.fetched: list[str] = []
        self.patterns: list[list[str]] = []
        self.most_at_a_time = 0

    def commit(self, branch: str) -> str:
        return hashlib.sha1(branch.encode()).hexdigest()

    def list_repo_refs(self, name: str) -> SimpleNamespace:
        assert name == "somebody/tiny"
        branches = [path.name for path in self.folder.iterdir()]
        refs = {**{branch: branch for branch in branches}, **self.tags}
        found = [SimpleNamespace(name=k, target_commit=self.commit(v)) for k, v in refs.items()]
        return SimpleNamespace(branches=found[: len(branches)], tags=found[len(branches) :])

    def snapshot_download(
        self,
        name: str,
        *,
        revision: str,
        allow_patterns: list[str],
        ignore_patterns: list[str],
        local_dir: Path,
    ) -> str:
        assert (name, ignore_patterns) == ("somebody/tiny", ["*/*"])
        (branch,) = [p.name for p in self.folder.iterdir() if self.commit(p.name) == revision]
        self.fetched.append(branch)
        self.patterns.append(allow_patterns)
        for path in (self.folder / branch).iterdir():
            if any(fnmatch(path.name, pattern) for pattern in allow_patterns):
                shutil.copy(path, local_dir)
        at_a_time = len([path for path in Path(local_dir).parent.iterdir() if path.is_dir()])
        self.most_at_a_time = max(self.most_at_a_time, at_a_time)
        return str(local_dir)

    def serve(self, monkeypatch: Any) -> FakeHub:
        import huggingface_hub

        monkeypatch.setattr(huggingface_hub, "list_repo_refs", self.list_repo_refs)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", self.snapshot_download)
        return self
