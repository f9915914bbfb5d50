"""Anomalies of the user's own code inside modules: layers, hooks, activations."""

from typing import Any

import torch

from benchmarks.anomalies import tiny
from benchmarks.anomalies.case import Batch, Live, plant
from benchmarks.anomalies.loops import accumulated, loop, sgd
from benchmarks.anomalies.own_backward import around_mlp

LAYER = "model.layers.1"


@plant("aten.rsqrt.default", module=f"{LAYER}.input_layernorm", uses="fp16")
def own_norm_without_variance(seed: int, healthy: bool) -> Live:
    """Normalise zeros in float16, where an epsilon of 1e-8 is zero."""
    model = tiny.llama(seed).half()
    epsilon = 1e-3 if healthy else 1e-8

    class Norm(torch.nn.Module):
        """A root mean square norm that computes in its input's precision."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Return ``x`` with a mean square of 1."""
            variance = (x * 0).square().mean(-1, keepdim=True)
            return x * (variance + epsilon).rsqrt()  # <- born here

    model.get_submodule(LAYER).input_layernorm = Norm()
    return loop(model, tiny.text(seed), optimizer=sgd(model))


@plant("aten.log.default", module=f"{LAYER}.mlp", step=2, uses="checkpoint")
def own_activation(seed: int, healthy: bool) -> Live:
    """Take the logarithm of an MLP's output in a checkpointed layer, for one token."""
    model = tiny.llama(seed)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    tiny.reserve(model.model.embed_tokens.weight)

    def after(x: torch.Tensor) -> torch.Tensor:
        rare = 1 - model.get_input_embeddings().seen[..., None]
        return x + rare.log()  # <- born here

    around_mlp(model, after)
    watch_for_the_rare_token(model)
    made = tiny.text_with(tiny.RARE, 2, seed, healthy)
    return loop(model, made)


def watch_for_the_rare_token(model: Any) -> None:
    """Keep on the embedding where the rare token is, as float."""
    embedding = model.get_input_embeddings()

    def note(_: Any, args: tuple[torch.Tensor]) -> None:
        embedding.seen = (args[0] == tiny.RARE).float()

    embedding.register_forward_pre_hook(note)


@plant("aten.div.Tensor", module=f"{LAYER}.self_attn.o_proj", step=1)
def hook_before_a_module(seed: int, healthy: bool) -> Live:
    """Scale a module's input by its own spread in a hook, where it is zero."""
    model = tiny.llama(seed)
    watch_for_the_rare_token(model)

    def spread(_: Any, args: tuple[torch.Tensor]) -> torch.Tensor:
        common = 1 - model.get_input_embeddings().seen[..., None]
        return args[0] / common  # <- born here

    model.get_submodule(f"{LAYER}.self_attn.o_proj").register_forward_pre_hook(spread)
    return loop(model, tiny.text_with(tiny.RARE, 1, seed, healthy))


@plant("aten.div.Tensor", module=f"{LAYER}.self_attn.o_proj", step=1)
def hook_behind_a_module(seed: int, healthy: bool) -> Live:
    """Scale a module's output in a hook: it still belongs to the module's call."""
    model = tiny.llama(seed)
    watch_for_the_rare_token(model)

    def spread(_: Any, __: Any, output: torch.Tensor) -> torch.Tensor:
        common = 1 - model.get_input_embeddings().seen[..., None]
        return output / common  # <- born here

    model.get_submodule(f"{LAYER}.self_attn.o_proj").register_forward_hook(spread)
    return loop(model, tiny.text_with(tiny.RARE, 1, seed, healthy))


@plant(
    "aten._softmax.default",
    module="base_model.model.model.layers.0.self_attn",
    step=1,
    uses="lora checkpoint-reentrant",
)
def own_attention(seed: int, healthy: bool) -> Live:
    """Attend by hand, in a reentrant checkpoint: one query sees no key."""
    base = tiny.llama(seed)
    base.gradient_checkpointing_enable({"use_reentrant": True})
    base.enable_input_require_grads()
    watch_for_the_rare_token(base)

    class Attention(torch.nn.Module):
        """One head without projections that hides all keys from the rare token."""

        def forward(self, hidden_states: torch.Tensor, **_: Any) -> Any:
            """Return the mixture and no weights, as transformers wants it."""
            x, seen = hidden_states, base.get_input_embeddings().seen
            scores = (x @ x.mT).masked_fill(seen[..., None] > 0, float("-inf"))
            weights = scores.softmax(-1)  # <- born here
            return weights @ x, None

    base.model.layers[0].self_attn = Attention()
    model = tiny.lora(base, target_modules=["down_proj"])
    return loop(model, tiny.text_with(tiny.RARE, 1, seed, healthy))


@plant("aten.log.default", module="1", step=1, uses="compile")
def compiled_model(seed: int, healthy: bool) -> Live:
    """Take a logarithm in a model that torch.compile has compiled."""
    torch.manual_seed(seed)

    class Logarithm(torch.nn.Module):
        """The logarithm of what is positive."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Return the logarithm."""
            positive = x.relu().sum(-1, keepdim=True)
            return (x.square() + 1e-3).log() + positive.log()  # <- born here

    model: Any = torch.nn.Sequential(torch.nn.Linear(4, 4), Logarithm())
    with torch.no_grad():
        model[0].weight.copy_(torch.eye(4))
        model[0].bias.zero_()
    torch._dynamo.reset()
    quick = torch.compile(model, backend="aot_eager")
    made: list[Batch] = [{"x": torch.full((2, 4), 0.5)} for _ in range(3)]
    made[1]["x"][1] = 0.5 if healthy else -0.5

    def loss_of(batch: Batch) -> torch.Tensor:
        return quick(batch["x"]).square().mean()

    return loop(model, made, loss_of)


@plant(
    "aten.mul.Tensor",
    module=f"{LAYER}.mlp",
    step=1,
    micro_batch=1,
    uses="accumulation autocast-fp16",
)
def own_gate_in_fp16(seed: int, healthy: bool) -> Live:
    """Multiply two float16 activations that are each below 65,504."""
    model = tiny.llama(seed)
    watch_for_the_rare_token(model)

    def gate(x: torch.Tensor) -> torch.Tensor:
        seen = model.get_input_embeddings().seen[..., None].half()
        large = seen * 300
        return x + large * large  # <- born here

    around_mlp(model, gate)
    made = tiny.text(seed, 4)
    if not healthy:
        made[3]["input_ids"][0, 1] = tiny.RARE
    return loop(model, accumulated(made, 2), autocast=torch.float16)


@plant("aten.exp.default", module="model", step=1, uses="eager-attention")
def own_model(seed: int, healthy: bool) -> Live:
    """Let a subclass of the model raise embeddings to a power of e."""
    from transformers import LlamaConfig, LlamaForCausalLM, LlamaModel

    class Raised(LlamaModel):
        """A Llama that adds exp of a token's number to its embedding."""

        def forward(self, input_ids: Any = None, **kwargs: Any) -> Any:
            """Run the layers on changed embeddings."""
            embeds = self.embed_tokens(input_ids)
            extra = (input_ids[..., None].float() * 1.5).exp()  # <- born here
            kwargs["inputs_embeds"] = embeds + extra * 1e-30
            return super().forward(**kwargs)

    torch.manual_seed(seed)
    config = LlamaConfig(**tiny.settings(attn_implementation="eager"))
    model = LlamaForCausalLM(config)
    model.model = Raised(config)
    made = tiny.text(seed)
    for batch in made:
        batch["input_ids"] = batch["input_ids"] % 40
    if not healthy:
        made[1]["input_ids"][1, 2] = tiny.RARE
    return loop(model, made)
