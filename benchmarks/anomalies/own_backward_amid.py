"""The root of zero amid checkpoints, scalers, hooks, 4-bit layers and compilers."""

import tempfile

import torch
from torch.utils.checkpoint import checkpoint

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Batch, Live, plant
from benchmarks.anomalies.loops import accumulated, loop
from benchmarks.anomalies.losses import token_losses
from benchmarks.anomalies.own_backward import MLP, Around, around_mlp, probes


@plant(
    "aten.div.Tensor",
    phase="backward",
    forward="aten.sqrt.default",
    module=MLP,
    uses="checkpoint",
)
def root_in_a_checkpoint(seed: int, healthy: bool) -> Live:
    """Take a root of zeros in a layer that transformers checkpoints."""
    model = tiny.llama(seed)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    floor = 1.0 if healthy else 0.0

    def after(x: torch.Tensor) -> torch.Tensor:
        return x + (x * 0 + floor).sqrt()  # <- born here

    around_mlp(model, after)
    return loop(model, tiny.text(seed))


@plant(
    "aten.div.Tensor",
    phase="backward",
    forward="aten.sqrt.default",
    module=MLP,
    uses="checkpoint-reentrant",
)
def root_in_a_reentrant_checkpoint(seed: int, healthy: bool) -> Live:
    """Take a root of zeros in a layer that is checkpointed the old way."""
    model = tiny.llama(seed)
    model.gradient_checkpointing_enable({"use_reentrant": True})
    floor = 1.0 if healthy else 0.0

    def after(x: torch.Tensor) -> torch.Tensor:
        return x + (x * 0 + floor).sqrt()  # <- born here

    around_mlp(model, after)
    return loop(model, tiny.text(seed))


@plant(
    "aten.div.Tensor",
    phase="backward",
    forward="aten.sqrt.default",
    step=1,
    uses="checkpoint-reentrant autocast-bf16 dropout",
)
def root_in_an_own_checkpoint(seed: int, healthy: bool) -> Live:
    """Checkpoint a loss by hand, under autocast and dropout."""
    model = tiny.llama(seed, attention_dropout=0.2)

    def distance(found: torch.Tensor, probe: torch.Tensor) -> torch.Tensor:
        gap = found - found.detach() * probe
        return gap.square().sqrt().mean()  # <- born here

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1)
        extra = checkpoint(distance, found, batch["probe"], use_reentrant=True)
        return found.mean() + extra

    made = probes(seed, torch.ones(2), 1, healthy)
    return loop(model, made, loss_of, autocast=torch.bfloat16)


@plant(
    "aten.div.Tensor",
    phase="backward",
    forward="aten.sqrt.default",
    step=1,
    uses="grad-scaler autocast-fp16 lora",
)
def collapsed_scale(seed: int, healthy: bool) -> Live:
    """Overflow under a scaler that has nothing left to give."""
    model = tiny.lora(tiny.llama(seed))

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1)
        gap = found - found.detach() * batch["probe"]
        return found.mean() + gap.square().sqrt().mean()  # <- born here

    # The twin overflows too, under a scaler that can still halve: it handles that.
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16 if healthy else 0.5)
    made = probes(seed, torch.ones(2), 1, False)
    half = torch.float16
    return loop(model, made, loss_of, autocast=half, scaler=scaler, zero_first=True)


@plant(
    "aten.div.Tensor",
    phase="backward",
    forward="aten.sqrt.default",
    step=1,
    uses="grad-scaler autocast-fp16",
)
def collapsed_scale_and_no_trace(seed: int, healthy: bool) -> Live:
    """Overflow under a collapsed scaler, and clear the gradients after its skip."""
    model = tiny.llama(seed)

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch).mean(1)
        gap = found - found.detach() * batch["probe"]
        return found.mean() + gap.square().sqrt().mean()  # <- born here

    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16 if healthy else 0.5)
    made = probes(seed, torch.ones(2), 1, False)
    return loop(model, made, loss_of, autocast=torch.float16, scaler=scaler)


@plant("aten.div.Tensor", phase="backward", step=1, uses="accumulation", micro_batch=1)
def hook_on_a_gradient(seed: int, healthy: bool) -> Live:
    """Normalise a gradient in a hook, where it is zero."""
    model = tiny.llama(seed)
    floor = 1e-6 if healthy else 0.0

    def unit(grad: torch.Tensor) -> torch.Tensor:
        return grad / (grad.norm() + floor)  # <- born here

    def loss_of(batch: Batch) -> torch.Tensor:
        found = token_losses(model, batch) * 1.0
        found.register_hook(unit)
        return (found * batch["probe"]).mean()

    made = accumulated(tiny.text(seed, 4), 2)
    for index, batch in enumerate(made):
        batch["probe"] = 0.0 if index == 3 else 1.0
    return loop(model, made, loss_of)


@plant(
    "aten.div.Tensor",
    phase="backward",
    forward="aten.sqrt.default",
    module="base_model.model.model.layers.0.mlp",
    uses="4bit lora",
)
def root_beside_4bit_layers(seed: int, healthy: bool) -> Live:
    """Take a root of zeros beside layers in 4 bits."""
    with tempfile.TemporaryDirectory() as folder:
        base = tiny.in_4bit(folder, seed)
    floor = 1.0 if healthy else 0.0

    def after(x: torch.Tensor) -> torch.Tensor:
        return x + (x * 0 + floor).sqrt()  # <- born here

    layer = base.model.layers[0]
    layer.mlp = Around(layer.mlp, after)
    model = tiny.lora(base)
    return loop(model, tiny.text(seed))


@plant(
    "aten.div.Tensor",
    phase="backward",
    forward="aten.sqrt.default",
    module="1",
    uses="compile",
)
def root_in_a_compiled_model(seed: int, healthy: bool) -> Live:
    """Take a root of zeros in a model that torch.compile has compiled."""
    torch.manual_seed(seed)
    floor = 1.0 if healthy else 0.0

    class Root(torch.nn.Module):
        """The root of the distance to itself."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Return the root."""
            return x + (x * 0 + floor).sqrt()  # <- born here

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), Root())
    torch._dynamo.reset()
    quick = torch.compile(model, backend="aot_eager")
    generator = torch.Generator().manual_seed(seed)
    made: list[Batch] = [{"x": torch.randn(2, 4, generator=generator)}] * 2

    def loss_of(batch: Batch) -> torch.Tensor:
        return quick(batch["x"]).square().mean()

    return loop(model, made, loss_of)
