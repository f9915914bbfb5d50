"""Plants an anomaly at a random place, so that nothing can be made to fit the cases.

A seed decides on the model, on what is at work in the run, on the kind of anomaly and
on its layer, step and micro-batch. The truth is built together with the run.
"""

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Batch, Case, Expected, Line, Live, born_in
from benchmarks.anomalies.hook_faults import BACKWARD, FORWARD, Fault
from benchmarks.anomalies.loops import LossOf, accumulated, loop, own_loss
from benchmarks.anomalies.losses import token_losses

STEPS = 3
EMBEDDED = {
    "Llama": "inputs_embeds: torch.Tensor = self.embed_tokens(input_ids)",
    "Qwen3": "inputs_embeds = self.embed_tokens(input_ids)",
}
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Place:
    """Where to plant and in what run; all of it is drawn at random.

    Attributes
    ----------
    kind
        The family of the model, ``"Llama"`` or ``"Qwen3"``.
    attention, checkpoint, autocast, lora
        What is at work; ``checkpoint`` is whether it is reentrant, if there is any.
    layer, module
        A submodule of a decoder layer that takes a tensor.
    step, micro, micros
        The optimizer step, the micro-batch of it, and how many a step has.
    sample, position
        Where in the batch the rare token is put.
    """

    kind: str
    attention: str
    checkpoint: bool | None
    autocast: torch.dtype | None
    lora: bool
    layer: int
    module: str
    step: int
    micro: int
    micros: int
    sample: int
    position: int

    @property
    def at(self) -> int:
        """The batch that holds the rare token."""
        return self.step * self.micros + self.micro

    @property
    def path(self) -> str:
        """Where the submodule is in the model."""
        root = "base_model.model." if self.lora else ""
        return f"{root}model.layers.{self.layer}.{self.module}"


MODULES = (
    "input_layernorm",
    "post_attention_layernorm",
    "self_attn.q_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "mlp",
    "mlp.up_proj",
    "mlp.act_fn",
    "mlp.down_proj",
)


def draw(seed: int) -> Place:
    """Draw a place."""
    pick = random.Random(seed)
    checkpoint = pick.choice([None, None, False, True])
    micros = pick.randint(1, 3)
    # Fused attention on a CPU gives zeros for NaN; with checkpoints that is a case of
    # its own.
    fused = checkpoint is None and pick.random() < 0.5
    return Place(
        kind=pick.choice(["Llama", "Qwen3"]),
        attention="sdpa" if fused else "eager",
        checkpoint=checkpoint,
        autocast=pick.choice([None, None, torch.bfloat16]),
        lora=pick.random() < 0.5,
        layer=pick.randrange(3),
        module=pick.choice(MODULES),
        step=pick.randrange(STEPS),
        micro=pick.randrange(micros),
        micros=micros,
        sample=pick.randrange(tiny.SIZE),
        position=pick.randrange(tiny.LENGTH),
    )


def generate(seed: int) -> Case:
    """Return a case that a seed decides on.

    Examples
    --------
    >>> from benchmarks.anomalies.generator import generate
    >>> generate(7).expected == generate(7).expected
    True
    """
    place = draw(seed)
    pick = random.Random(f"kind {seed}")
    way = pick.choice([_hook, _hook, _hook_in_backward, _weight, _token, _sample])
    return way(place, pick, seed)


def _case(
    place: Place, what: str, seed: int, expected: Expected, plant: Callable[..., LossOf]
) -> Case:
    """Make a case of a place and of what ``plant`` does to its model."""

    def builder(own_seed: int, healthy: bool) -> Live:
        model = _model(place, own_seed)
        made = _batches(place, own_seed, healthy)
        compute = plant(model, made, healthy)
        return loop(model, made, compute, autocast=place.autocast)

    return Case(
        id=f"seed-{seed}",
        title=f"{what} at {place}",
        family="generator",
        builder=builder,
        expected=expected,
    )


def _expected(place: Place, op: str, line: Line, **changes: Any) -> Expected:
    where: dict[str, Any] = {
        "phase": "forward",
        "module": place.path,
        "kind": "module",
        "step": place.step,
        "micro_batch": place.micro,
    }
    return Expected(op=frozenset({op}), line=line, **(where | changes))


def _hook(place: Place, pick: random.Random, seed: int) -> Case:
    fault = pick.choice(list(FORWARD))
    expected = _expected(place, FORWARD[fault], born_in(fault))
    plant = functools.partial(_plant_hook, place, fault)
    return _case(place, fault.__name__, seed, expected, plant)


def _hook_in_backward(place: Place, pick: random.Random, seed: int) -> Case:
    fault = pick.choice(list(BACKWARD))
    op, forward = BACKWARD[fault]
    expected = _expected(
        place,
        op,
        born_in(fault),
        phase="backward",
        kind="backward",
        forward=frozenset({forward}),
    )
    plant = functools.partial(_plant_hook, place, fault)
    return _case(place, fault.__name__, seed, expected, plant)


def _plant_hook(place: Place, fault: Fault, model: Any, *_: Any) -> LossOf:
    embedding = model.get_input_embeddings()

    def note(_: Any, args: tuple[torch.Tensor]) -> None:
        embedding.good = 1 - (args[0] == tiny.RARE).any().float()

    def spoil(_: Any, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        return (fault(args[0], embedding.good),)

    embedding.register_forward_pre_hook(note)
    model.get_submodule(place.path).register_forward_pre_hook(spoil)
    return own_loss(model)


def _weight(place: Place, pick: random.Random, seed: int) -> Case:
    """Poison one element of a norm: all models and adapters read it alike."""
    norm = pick.choice(["input_layernorm", "post_attention_layernorm"])
    root = place.path.removesuffix(place.module)
    element = pick.randrange(tiny.WIDTH)
    line = Line(
        f"modeling_{place.kind.lower()}.py",
        "return self.weight * hidden_states.to(input_dtype)",
    )
    expected = _expected(
        place,
        "aten.mul.Tensor",
        line,
        module=root + norm,
        kind="parameter",
        name=f"{root}{norm}.weight",
        step=0,
        micro_batch=0,
    )

    def plant(model: Any, _: list[Batch], healthy: bool) -> LossOf:
        if not healthy:
            tiny.write(model.get_parameter(expected.name), NAN, element)
        return own_loss(model)

    return _case(place, f"poisoned {norm}", seed, expected, plant)


def _token(place: Place, pick: random.Random, seed: int) -> Case:
    """Poison one element of the rare token's embedding."""
    root = place.path.partition("layers.")[0]
    element = pick.randrange(tiny.WIDTH)
    line = Line(f"modeling_{place.kind.lower()}.py", EMBEDDED[place.kind])
    expected = _expected(
        place,
        "aten.embedding.default",
        line,
        module=f"{root}embed_tokens",
        kind="parameter",
        name=f"{root}embed_tokens.weight",
    )

    def plant(model: Any, *_: Any) -> LossOf:
        tiny.write(model.get_parameter(expected.name), NAN, tiny.RARE, element)
        return own_loss(model)

    return _case(place, "poisoned token", seed, expected, plant)


def weighted(losses: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Weigh the losses of samples."""
    return (losses * weights).mean()  # <- born here


def _sample(place: Place, _: random.Random, seed: int) -> Case:
    """Give one sample a weight of NaN."""
    expected = _expected(
        place,
        "aten.mul.Tensor",
        born_in(weighted),
        module=None,
        kind="batch",
        name="weights",
    )

    def plant(model: Any, made: list[Batch], healthy: bool) -> LossOf:
        for batch in made:
            batch["weights"] = torch.ones(tiny.SIZE)
        if not healthy:
            made[place.at]["weights"][place.sample] = NAN
        return lambda batch: weighted(
            token_losses(model, batch).mean(1), batch["weights"]
        )

    return _case(place, "poisoned sample", seed, expected, plant)


def _model(place: Place, seed: int) -> Any:
    model = tiny.causal(
        place.kind, seed, num_hidden_layers=3, attn_implementation=place.attention
    )
    if place.checkpoint is not None:
        model.gradient_checkpointing_enable({"use_reentrant": place.checkpoint})
    if place.lora:
        model.enable_input_require_grads()
        model = tiny.lora(model, target_modules=["k_proj", "gate_proj"])
    return model


def _batches(place: Place, seed: int, healthy: bool) -> list[Batch]:
    made = tiny.text(seed, STEPS * place.micros)
    if not healthy:
        made[place.at]["input_ids"][place.sample, place.position] = tiny.RARE
    return accumulated(made, place.micros)
