"""Every kind of adapter that PEFT knows, on every kind of layer that it takes."""

import dataclasses
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import peft
import pytest
import torch
from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING
from transformers.pytorch_utils import Conv1D

import ftlab
from ftlab.records.errors import FtlabWarning
from tests.models import batches, tiny_llama

STEPS = 2
TYPES = sorted(PEFT_TYPE_TO_CONFIG_MAPPING, key=str)
LAYERS: dict[str, tuple[Callable[[], torch.nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: torch.nn.Linear(16, 16), (4, 16)),
    "embedding": (lambda: torch.nn.Embedding(32, 16), ()),
    "convolution 1": (lambda: torch.nn.Conv1d(16, 16, 3), (4, 16, 8)),
    "convolution 2": (lambda: torch.nn.Conv2d(16, 16, 3), (4, 16, 8, 8)),
    "convolution 3": (lambda: torch.nn.Conv3d(16, 16, 3), (4, 16, 4, 4, 4)),
    "transposed": (lambda: Conv1D(16, 16), (4, 16)),
    "attention": (lambda: torch.nn.MultiheadAttention(16, 2), (4, 2, 16)),
    "norm": (lambda: torch.nn.LayerNorm(16), (4, 16)),
}
ASKED: dict[str, Any] = {
    "r": 4,
    "rank": 4,
    "num_virtual_tokens": 3,
    "total_step": 100,
    "adapter_len": 3,
    "adapter_layers": 1,
    "block_size": 4,
    "oft_block_size": 4,
    "boft_block_size": 4,
    "n_frequency": 8,
    "num_vectors": 8,
    "vector_length": 4,
    "cpt_token_ids": [1, 2, 3],
    "cpt_mask": [1, 1, 1],
    "cpt_tokens_type_mask": [1, 2, 3],
    "token_indices": [1, 2],
}
"""What PEFT's configurations are asked for where they have such a setting."""


class OneLayer(torch.nn.Module):
    """A layer that carries the adapter, and a head."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        make, self.shape = LAYERS[kind]
        self.inner, self.head = make(), torch.nn.Linear(16, 1)
        self.attends = kind == "attention"
        self.config = {"model_type": "none"}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.attends:
            return self.head(self.inner(x, x, x)[0])
        out = self.inner(x)
        return self.head(out.movedim(1, -1) if out.dim() > 3 else _last(out))

    def feed(self) -> list[torch.Tensor]:
        if not self.shape:
            return [torch.randint(0, 32, (4, 6)) for _ in range(STEPS)]
        return [torch.randn(self.shape) for _ in range(STEPS)]


def _last(out: torch.Tensor) -> torch.Tensor:
    return out if out.shape[-1] == 16 else out.transpose(1, -1)


class Training:
    """A model with an adapter, seeded, and a step of it."""

    def __init__(
        self, kind: Any, layer: str, asked: dict[str, Any], *, aimed: bool
    ) -> None:
        torch.manual_seed(0)
        settings = PEFT_TYPE_TO_CONFIG_MAPPING[kind]
        fields = {each.name for each in dataclasses.fields(settings)}
        asked = {name: value for name, value in asked.items() if name in fields}
        if layer == "language model":
            base: Any = tiny_llama()
            self.feed: list[Any] = list(batches(STEPS))
            targets, asked["task_type"] = ["q_proj", "down_proj"], "CAUSAL_LM"
        else:
            base = OneLayer(layer)
            self.feed, targets = base.feed(), ["inner"]
            if "num_tasks" in fields:
                tasks = torch.zeros(len(self.feed[0]["labels"]), dtype=torch.long)
                self.feed = [{**each, "task_ids": tasks} for each in self.feed]
        if "target_modules" in fields and aimed:
            asked["target_modules"] = targets
        self.model = peft.get_peft_model(base, settings(**asked))
        self.model.train()
        torch.manual_seed(1)
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=1e-2)

    def step(self, batch: Any) -> torch.Tensor:
        self.optimizer.zero_grad()
        if isinstance(batch, dict):
            loss = self.model(**batch).loss
        else:
            loss = self.model(batch).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def train(self) -> "Training":
        self.losses = [self.step(batch) for batch in self.feed]
        return self

    def state(self) -> dict[str, torch.Tensor]:
        losses = {f"loss {i}": loss for i, loss in enumerate(self.losses)}
        return losses | self.model.state_dict() | {"rng": torch.get_rng_state()}


def trainable(kind: Any, layer: str) -> Callable[[], Training] | None:
    """Return what builds a training, ``None`` where PEFT has none or it fails."""
    for asked, aimed in ((ASKED, True), ({}, True), (ASKED, False)):

        def build(asked: dict[str, Any] = asked, aimed: bool = aimed) -> Training:
            return Training(kind, layer, asked, aimed=aimed)

        try:
            first, second = build().train().state(), build().train().state()
        except Exception:  # noqa: BLE001  PEFT refuses in many ways
            continue
        if all(torch.equal(first[name], second[name]) for name in first):
            return build
    return None


def differing(found: Training, wanted: dict[str, torch.Tensor]) -> list[str]:
    now = found.state()
    assert now.keys() == wanted.keys()
    return [name for name in wanted if not torch.equal(now[name], wanted[name])]


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES, ids=[str(each.value) for each in TYPES])
def test_a_watched_and_a_debugged_training_are_bit_equal(
    tmp_path: Path, kind: Any
) -> None:
    built = 0
    # BOFT names a compiler for its extension.
    with warnings.catch_warnings(), mock.patch.dict(os.environ):
        warnings.simplefilter("ignore")
        for layer in ("language model", *LAYERS):
            build = trainable(kind, layer)
            if build is None:
                continue
            built += 1
            wanted = build().train().state()
            warnings.simplefilter("error", FtlabWarning)
            training = build()
            folder = tmp_path / layer.replace(" ", "-")
            with ftlab.watch(
                training.model, training.optimizer, run_dir=folder
            ) as watch:
                training.train()
            assert differing(training, wanted) == [], layer
            assert len(watch.run.steps) == STEPS
            assert watch.findings is not None
            training = build()
            with ftlab.debug(
                training.step,
                training.feed,
                model=training.model,
                optimizer=training.optimizer,
            ) as dbg:
                dbg.run()
                training.losses = list(dbg.result)
            assert differing(training, wanted) == [], layer
            warnings.simplefilter("ignore", FtlabWarning)
    assert built == len(LAYERS) or kind.value != "LORA"
    if not built:
        pytest.skip("PEFT builds none of these with its defaults")
