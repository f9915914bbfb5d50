"""A watched tiny model with LoRA, to put probes on."""

import contextlib
import functools

import torch

import ftlab
from tests.models import batches, tiny_lora, update

ATTENTION = "layers.*.self_attn.post"


def norm(tensor):
    return tensor.float().norm()


def together(gradients):
    return norm(torch.cat([each.flatten() for each in gradients.values()]))


def once(model, optimizer):
    """Train one step."""
    update(model(**next(batches(1))).loss, optimizer)


@contextlib.contextmanager
def watched_model(folder):
    """Give the watch, the model, and a function that trains one step."""
    model = tiny_lora().train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1)
    with ftlab.watch(model, optimizer, run_dir=folder / "run") as watch:
        yield watch, model, functools.partial(once, model, optimizer)
