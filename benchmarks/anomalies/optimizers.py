"""Anomalies that the optimizer bears: finite gradients, and weights that are not.

The line is that of the optimizer's own code. ``step`` is the optimizer step in which
the value is born; the loss may show it later, or never.
"""

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Batch, Line, Live, plant
from benchmarks.anomalies.loops import accumulated, adamw, loop, sgd
from benchmarks.anomalies.losses import token_losses
from benchmarks.anomalies.trainers import trainer

ADAM = "torch/optim/adam.py"
UPDATE = Line(
    ADAM, "param.addcdiv_(exp_avg, denom, value=-step_size)  # type: ignore[arg-type]"
)
VARIANCE = Line(
    ADAM,
    "exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)"
    "  # type: ignore[arg-type]",
)
EMBEDDING = "model.embed_tokens.weight"


def weighted(model: Any) -> Callable[[Batch], torch.Tensor]:
    """Return a loss that the batch's ``weight`` multiplies."""

    def loss_of(batch: Batch) -> torch.Tensor:
        return token_losses(model, batch).mean() * batch["weight"]

    return loss_of


def heavy(seed: int, weight: float, at: int, healthy: bool) -> list[Batch]:
    """Return batches of weight 1, of which one is heavy."""
    made = tiny.text(seed)
    for index, batch in enumerate(made):
        batch["weight"] = weight if index == at and not healthy else 1.0
    return made


@plant(
    "aten.addcdiv_.default",
    phase="optimizer",
    line=UPDATE,
    name=EMBEDDING,
    uses="fp16",
    unmodified=True,
)
def epsilon_underflow(seed: int, healthy: bool) -> Live:
    """Train float16 weights with AdamW, whose 1e-8 is 0 there: 0 / 0 for unseen tokens.

    The loss shows it in the next step, when an unseen token comes up.
    """
    model = tiny.frozen(tiny.llama(seed), "embed_tokens").half()
    made = tiny.text(seed)
    return loop(model, made, optimizer=adamw(model, eps=1e-4 if healthy else 1e-8))


@plant(
    "aten.addcdiv_.default",
    phase="optimizer",
    line=UPDATE,
    name=EMBEDDING,
    uses="trainer",
)
def epsilon_of_zero_under_a_trainer(seed: int, healthy: bool) -> Live:
    """Configure a Trainer with adam_epsilon=0: 0 / 0 for tokens not in the batch."""
    epsilon = 1e-8 if healthy else 0.0
    rows = tiny.rows(tiny.text(seed))
    model = tiny.frozen(tiny.llama(seed), "embed_tokens")
    return trainer(model, rows, seed, adam_epsilon=epsilon, optim="adamw_torch")


@plant(
    "aten.addcmul_.default",
    phase="optimizer",
    kind="state",
    line=VARIANCE,
    step=1,
    name="lm_head.weight",
    unmodified=False,
)
def variance_overflow(seed: int, healthy: bool) -> Live:
    """Square a gradient of 1e24 in Adam: the variance is infinite, the update 0."""
    model = tiny.frozen(tiny.llama(seed), "lm_head")
    return loop(model, heavy(seed, 1e26, 1, healthy), weighted(model))


@plant(
    "aten.addcmul_.default",
    phase="optimizer",
    kind="state",
    line=VARIANCE,
    step=2,
    name="model.norm.weight",
    uses="fp16",
    unmodified=False,
)
def variance_overflow_in_fp16(seed: int, healthy: bool) -> Live:
    """Square a gradient of 10,000 in Adam over float16 weights."""
    model = tiny.frozen(tiny.llama(seed), "model.norm").half()
    optimizer = adamw(model, eps=1e-4)

    def steep(grad: torch.Tensor) -> torch.Tensor:
        return torch.full_like(grad, model.slope)

    model.model.norm.weight.register_hook(steep)
    made = heavy(seed, 1.0, 2, healthy)
    for index, batch in enumerate(made):
        batch["slope"] = 1e4 if index == 2 and not healthy else 1e-2

    def loss_of(batch: Batch) -> torch.Tensor:
        model.slope = batch["slope"]
        return token_losses(model, batch).mean()

    return loop(model, made, loss_of, optimizer=optimizer)


@plant(
    "aten.add_.Tensor",
    phase="optimizer",
    line=Line("torch/optim/sgd.py", "param.add_(grad, alpha=-lr)"),
    step=1,
    name="lm_head.weight",
    unmodified=False,
)
def learning_rate_beyond_float32(seed: int, healthy: bool) -> Live:
    """Step with SGD along a gradient of 1e35 at a rate of 1e6."""
    model = tiny.frozen(tiny.llama(seed), "lm_head")
    optimizer = sgd(model, lr=1e6)
    made = heavy(seed, 1e36, 1, healthy)
    for batch in made:
        batch["weight"] *= 1.0 if batch["weight"] > 1 else 1e-8
    return loop(model, made, weighted(model), optimizer=optimizer)


@plant(
    "aten.add_.Tensor",
    phase="optimizer",
    line=Line(
        "torch/optim/sgd.py", "buf.mul_(momentum).add_(grad, alpha=1 - dampening)"
    ),
    kind="state",
    step=2,
    name="lm_head.weight",
    unmodified=False,
)
def momentum_overflow(seed: int, healthy: bool) -> Live:
    """Add up gradients of 1.5e38 in a momentum buffer while the rate is 0."""
    model = tiny.frozen(tiny.llama(seed), "lm_head")
    slope = 1.0 if healthy else 1.5e38
    model.lm_head.weight.register_hook(lambda grad: torch.full_like(grad, slope))
    optimizer = sgd(model, lr=0.0, momentum=1.0)
    return loop(model, tiny.text(seed), optimizer=optimizer)


@plant(
    "aten.addcdiv_.default",
    phase="optimizer",
    line=Line("torch/optim/adagrad.py", "param.addcdiv_(grad, std, value=-clr)"),
    name=EMBEDDING,
    unmodified=True,
)
def adagrad_without_epsilon(seed: int, healthy: bool) -> Live:
    """Train with Adagrad and an epsilon of 0: 0 / 0 for tokens not in the batch."""
    model = tiny.frozen(tiny.llama(seed), "embed_tokens")
    epsilon = 1e-10 if healthy else 0.0
    optimizer = torch.optim.Adagrad([model.get_parameter(EMBEDDING)], eps=epsilon)
    return loop(model, tiny.text(seed), optimizer=optimizer)


@plant(
    "aten.addcdiv_.default",
    phase="optimizer",
    line=Line("torch/optim/rmsprop.py", "param.addcdiv_(grad, avg, value=-lr)"),
    micro_batch=1,
    name="base_model.model.model.layers.0.self_attn.q_proj.lora_A.default.weight",
    uses="lora accumulation",
    unmodified=True,
)
def rmsprop_without_epsilon(seed: int, healthy: bool) -> Live:
    """Train LoRA with RMSprop and an epsilon of 0: A has no gradient while B is 0."""
    model = tiny.lora(tiny.llama(seed))
    trained = [p for p in model.parameters() if p.requires_grad]
    epsilon = 1e-8 if healthy else 0.0
    optimizer = torch.optim.RMSprop(trained, lr=1e-4, eps=epsilon)
    return loop(model, accumulated(tiny.text(seed, 4), 2), optimizer=optimizer)


@plant("aten.add_.Tensor", phase="optimizer", kind="state", name="weight")
def own_state_three_steps_before(seed: int, healthy: bool) -> Live:
    """Keep an average in float16 that overflows; the weights take it every third step.

    The state is infinite after the first step, the loss after the fourth.
    """
    torch.manual_seed(seed)
    model = torch.nn.Linear(4, 1, bias=False)

    class Lazy(torch.optim.Optimizer):
        """Adds its average of gradients to the weights now and then."""

        # torch types one overload without a closure and one with it.
        def step(self, closure: Any = None) -> None:  # type: ignore[override]
            """Update."""
            for weight in self.param_groups[0]["params"]:
                state = self.state[weight]
                mean = state.setdefault("mean", torch.zeros_like(weight).half())
                mean.mul_(0.9).add_(weight.grad.half(), alpha=1.5)  # <- born here
                state["steps"] = state.get("steps", 0) + 1
                if state["steps"] % 3 == 0:
                    weight.data.sub_(mean.float() * 1e-6)

    slope = 1.0 if healthy else 6e4
    made: list[Batch] = [{"x": torch.full((1, 4), slope)} for _ in range(4)]
    optimizer = Lazy(model.parameters(), {})
    return loop(model, made, lambda batch: model(batch["x"]).sum(), optimizer=optimizer)


@plant(
    "aten.lerp_.Scalar",
    phase="optimizer",
    kind="state",
    line=Line(ADAM, "exp_avg.lerp_(grad, 1 - device_beta1)"),
    name="lm_head.weight",
    unmodified=True,
)
def nan_in_a_saved_optimizer(seed: int, healthy: bool) -> Live:
    """Resume with an optimizer state that holds NaN."""
    model = tiny.frozen(tiny.llama(seed), "lm_head")
    optimizer = adamw(model)
    model(**tiny.text(seed, 1)[0]).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    state = optimizer.state_dict()
    if not healthy:
        tiny.write(state["state"][0]["exp_avg"], float("nan"), 2, 3)
    optimizer.load_state_dict(state)
    return loop(model, tiny.text(seed), optimizer=optimizer)
