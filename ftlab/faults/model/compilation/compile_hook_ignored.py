"""Noise on the embeddings (NEFTune) that never arrives in a compiled model.

The hook was registered after the compiled model had run once. The graph is not guarded
on the hooks of inner modules and goes on being used.

Fix: register hooks before the first compiled call, or call ``torch._dynamo.reset()``.
Source: pytorch/pytorch#117758, #98371, #98372.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, loop_case, lora


def build(fixed: bool) -> Case:
    """Build a compiled LoRA model that was warmed up before its hook came."""
    model = lora()
    compiled: Any = torch.compile(model, backend="eager")
    made = batches()
    embedding = _embedding(model)
    generator = torch.Generator().manual_seed(0)

    def noise(_: Any, __: Any, output: torch.Tensor) -> torch.Tensor:
        return output + 0.05 * torch.randn(output.shape, generator=generator)

    if not fixed:
        with torch.no_grad():
            compiled(**made[0])
        compiled(**made[0])
    embedding.register_forward_hook(noise)
    optimizer = adamw(model)
    return loop_case(compiled, optimizer, made)


def _embedding(model: torch.nn.Module) -> torch.nn.Embedding:
    kinds = (m for m in model.modules() if isinstance(m, torch.nn.Embedding))
    return next(kinds)


FAULT = Fault(
    "noise on the embeddings has no effect, and nothing says so",
    code="MOD005",
    places=("module *embed*", "module *wte", "module *words", "call torch.compile"),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
