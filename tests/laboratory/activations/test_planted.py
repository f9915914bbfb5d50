"""Each check finds its planted error, in models whose shapes still fit."""

import copy

import pytest
import torch
from torch import nn
from transformers import GemmaConfig, GemmaForCausalLM, GPT2Config, GPT2LMHeadModel
from transformers.models.llama import modeling_llama

import ftlab
from ftlab.faults.builders.tiny import batches, llama, lora
from ftlab.records.errors import BadValueError
from tests.laboratory.activations import own_parts
from tests.laboratory.activations.families import family
from tests.versions import older_than


def batch():
    made = batches(1, 4, 16)[0]
    made["attention_mask"][1, 12:] = 0
    made["labels"][1, 12:] = -100
    return made


def gemma():
    torch.manual_seed(0)
    config = GemmaConfig(
        vocab_size=128,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=64,
    )
    model = GemmaForCausalLM(config)
    for norm in (m for m in model.modules() if "Norm" in type(m).__name__):
        nn.init.normal_(norm.weight, std=0.1)
    return model


def gpt2():
    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 6, "n_head": 4, "n_positions": 64}
    return GPT2LMHeadModel(GPT2Config(vocab_size=128, **sizes))


def stirred():
    """Return a Llama whose norms have weights of their own, as after training."""
    model = llama()
    for norm in (m for m in model.modules() if "Norm" in type(m).__name__):
        nn.init.normal_(norm.weight, mean=1.0, std=0.1)
    return model


def attending(fault):
    model = stirred()
    attention = model.model.layers[1].self_attn
    attention.__class__ = own_parts.Attention
    attention.fault = fault
    return model


def with_mlp(fault):
    model = stirred()
    model.model.layers[0].mlp = own_parts.MLP(model.model.layers[0].mlp, fault)
    return model


def with_norm(fault):
    model = stirred()
    layer = model.model.layers[0]
    layer.input_layernorm = own_parts.Norm(layer.input_layernorm, fault)
    return model


def with_rotary(fault):
    model = stirred()
    model.model.rotary_emb = own_parts.Rotary(model.model.rotary_emb, fault)
    return model


def with_block(fault):
    model = stirred()
    model.model.layers[0].__class__ = own_parts.Block
    model.model.layers[0].fault = fault
    return model


def with_adapter(fault):
    model = stirred()
    attention = model.model.layers[0].self_attn
    torch.manual_seed(0)
    attention.q_proj = own_parts.Lora(attention.q_proj, fault=fault)
    return model


def changed(make, change):
    def build():
        model = make()
        with torch.no_grad():
            change(model)
        return model

    return build


def own_of(change):
    def build():
        model = OwnLanguageModel()
        change(model)
        return model

    return build


class OwnAttention(nn.Module):
    """Nothing of any library."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.scale, self.causal = heads, (width // heads) ** -0.5, True
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = (
            each(x).view(rows, length, self.heads, -1).transpose(1, 2)
            for each in (self.query, self.key, self.value)
        )
        scores = q * self.scale @ k.transpose(-1, -2)
        if self.causal:
            later = torch.ones(length, length).triu(1).bool()
            scores = scores.masked_fill(later, float("-inf"))
        out = scores.softmax(-1) @ v
        return self.out(out.transpose(1, 2).reshape(rows, length, width))


class OwnMLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate, self.up = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.down, self.wrong = nn.Linear(2 * width, width), False

    def forward(self, x):
        gate, up = self.gate(x), self.up(x)
        one, other = (up, gate) if self.wrong else (gate, up)
        return self.down(nn.functional.silu(one) * other)


class OwnNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale, self.wrong = nn.Parameter(torch.ones(width)), False

    def forward(self, x):
        square = x.square().mean(-1, keepdim=True) + 1e-5
        return self.scale * x * (square ** (-1 if self.wrong else -0.5))


class OwnRotary(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width, self.wrong = width, False

    def forward(self, length):
        speeds = 100.0 ** -(torch.arange(0, self.width, 2) / self.width)
        angles = torch.arange(length)[:, None] * speeds
        other = angles.flip(-1) if self.wrong else angles
        angles = torch.cat((angles, other), -1)
        return angles.cos(), angles.sin()


class OwnBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.second = OwnNorm(width), OwnNorm(width)
        self.attention, self.mlp = OwnAttention(width, 4), OwnMLP(width)

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.mlp(self.second(x))


class OwnLanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.rope = nn.Embedding(128, 64), OwnRotary(16)
        self.blocks = nn.ModuleList(OwnBlock(64) for _ in range(2))
        self.head = nn.Linear(64, 128)

    def forward(self, input_ids, attention_mask=None, labels=None):
        x = self.words(input_ids)
        self.rope(input_ids.shape[1])
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def set_on(path, name, value):
    def change(model):
        setattr(model.get_submodule(path), name, value)

    return change


def fill(path, value):
    return lambda model: model.get_parameter(path).fill_(value)


def times(path, value):
    return lambda model: model.get_parameter(path).mul_(value)


def other_base(model):
    rotary = model.model.rotary_emb
    width = 2 * len(rotary.inv_freq)
    rotary.inv_freq = 500000.0 ** -(torch.arange(0, width, 2).float() / width)


def identity(model):
    model.model.layers[1].post_attention_layernorm = nn.Identity()


def plain_embedding(model):
    kept = model.model.embed_tokens
    plain = nn.Embedding(kept.num_embeddings, kept.embedding_dim)
    plain.weight = kept.weight
    model.model.embed_tokens = plain


def gemma_norm(model):
    model.model.layers[0].input_layernorm.__class__ = own_parts.GemmaNorm


def equal_rows(model):
    weight = model.model.layers[0].mlp.up_proj.weight
    weight.copy_(weight[:1].expand_as(weight))


A, M, N = "model.layers.1.self_attn", "model.layers.0.mlp", "model.layers.0.input"
PLANTED = {
    "another activation": (
        changed(llama, set_on("model.layers.1.mlp", "act_fn", nn.ReLU())),
        "layers.1.mlp.act_fn",
        "ReLU stands where the configuration has SiLU",
    ),
    "scale missing": (lambda: attending("unscaled"), A, "that are not scaled"),
    "scale squared": (lambda: attending("squared"), A, "scaled by 1 / head_dim"),
    "scale by setting": (
        changed(stirred, set_on(A, "scaling", 1.0)),
        A,
        "scaling is 1, the configuration says",
    ),
    "no causal mask": (lambda: attending("mask"), A, "without the mask"),
    "heads in another order": (lambda: attending("heads"), A, "repeat_interleave"),
    "softmax over queries": (lambda: attending("softmax"), A, "over the queries"),
    "interleaved": (lambda: attending("pairs"), A, "neighbouring elements (GPT-J)"),
    "mixed pairs": (lambda: attending("rotation"), A, "by the angles of halves"),
    "not rotated": (lambda: attending("unrotated"), A, "without rotary positions"),
    "queries alone": (lambda: attending("queries alone"), A, "for queries alone"),
    "keys turned back": (lambda: attending("sign"), A, "way round for keys alone"),
    "keys ahead": (lambda: attending("offset"), A, "keys one position ahead"),
    "base": (lambda: with_rotary("base"), "model.rotary_emb", "its base is 500, the"),
    "base in the buffer": (
        changed(stirred, other_base),
        "model.rotary_emb",
        "its base is 500,000, the configuration says 10,000",
    ),
    "angles by pairs": (
        lambda: with_rotary("pairs"),
        "model.rotary_emb",
        "its pairs are neighbours",
    ),
    "origin": (lambda: with_rotary("offset"), "model.rotary_emb", "position is 1, not"),
    "cosines scaled": (lambda: with_rotary("scale"), "model.rotary_emb", "by 0.5, not"),
    "gate order": (lambda: with_mlp("order"), M, "the activation of up times gate"),
    "activation": (lambda: with_mlp("activation"), M, "a gate with gelu"),
    "no activation": (lambda: with_mlp("linear"), M, "a gate with no activation"),
    "sum": (lambda: with_mlp("sum"), M, "not their product"),
    "around both": (lambda: with_mlp("around"), M, "silu of gate times up"),
    "norm replaced": (
        changed(stirred, identity),
        "model.layers.1.post_attention_layernorm",
        "the norm is missing",
    ),
    "norm skipped": (
        lambda: with_block("norm"),
        "model.layers.0",
        "without post_attention_layernorm",
    ),
    "first norm skipped": (
        lambda: with_block("first norm"),
        "model.layers.0",
        "without input_layernorm",
    ),
    "eps": (lambda: with_norm("eps"), N, "RMSNorm times the weight, eps 0.01"),
    "eps by setting": (
        changed(stirred, set_on("model.norm", "variance_epsilon", 1e-3)),
        "model.norm",
        "variance_epsilon is 0.001, the configuration says 1e-06",
    ),
    "offset of the weight": (lambda: with_norm("offset"), N, "times 1 + the weight"),
    "offset left out": (
        changed(gemma, gemma_norm),
        N,
        "RMSNorm times the weight",
    ),
    "weight left out": (lambda: with_norm("no weight"), N, "without its weight"),
    "no root": (lambda: with_norm("no root"), N, "without the root"),
    "mean taken off": (lambda: with_norm("mean"), N, "LayerNorm without bias"),
    "sum for a mean": (lambda: with_norm("sum"), N, "sum of squares, not of their"),
    "embedding not scaled": (
        changed(lambda: family("Gemma3", vocab_size=128), plain_embedding),
        "model.embed_tokens",
        "it returns 0.1768 times",
    ),
    "ten times": (
        changed(llama, times(f"{M}.down_proj.weight", 12.0)),
        f"{M}.down_proj.weight",
        "times the 0.0",
    ),
    "zero": (
        changed(llama, fill(f"{M}.up_proj.weight", 0.0)),
        f"{M}.up_proj.weight",
        "all of it is 0; its class draws",
    ),
    "constant": (
        changed(llama, fill(f"{M}.up_proj.weight", 0.02)),
        f"{M}.up_proj.weight",
        "all of it is 0.02",
    ),
    "equal rows": (changed(llama, equal_rows), M, "all of its rows are equal"),
    "not a number": (
        changed(llama, times(f"{M}.up_proj.weight", float("nan"))),
        f"{M}.up_proj.weight",
        "it holds NaN",
    ),
    "adapter of zeros": (lambda: with_adapter("both zero"), "q_proj", "both 0"),
    "adapter's scale": (
        lambda: with_adapter("scale"),
        "q_proj",
        "scaled by 8; alpha and r make it 2",
    ),
    "own attention, no scale": (
        own_of(set_on("blocks.1.attention", "scale", 1.0)),
        "blocks.1.attention",
        "are not scaled",
    ),
    "own attention, squared": (
        own_of(set_on("blocks.1.attention", "scale", 1 / 16)),
        "blocks.1.attention",
        "scaled by 1 / 16",
    ),
    "own attention, no mask": (
        own_of(set_on("blocks.1.attention", "causal", False)),
        "blocks.1",
        "tokens depend on later ones",
    ),
    "own gate": (
        own_of(set_on("blocks.0.mlp", "wrong", True)),
        "blocks.0.mlp",
        "the activation of up times gate",
    ),
    "own norm": (
        own_of(set_on("blocks.0.norm", "wrong", True)),
        "blocks.0.norm",
        "without the root",
    ),
    "own angles": (own_of(set_on("rope", "wrong", True)), "rope", "is stretched"),
}
if older_than("transformers", "5"):
    # the scale is a buffer that nothing but the constructor sets
    del PLANTED["embedding not scaled"]


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_found_with_its_place(name):
    build, place, says = PLANTED[name]
    found = ftlab.activations(build(), batch())
    assert not found.ok
    told = [each for each in found.faults if says in each.said]
    assert told, found
    assert any(place in path for each in told for path in each.places), found


FRESH = {
    "adapter begins": (lambda: with_adapter("random start"), "q_proj", "is not 0"),
    "residual not scaled": (
        changed(gpt2, times("transformer.h.0.mlp.c_proj.weight", 12**0.5)),
        "h.0.mlp.c_proj.weight",
        "3.4",
    ),
    "norm weight": (
        changed(llama, fill("model.norm.weight", 0.5)),
        "model.norm.weight",
        "its class makes all of it 1",
    ),
    "std by a tenth": (
        changed(llama, times("model.embed_tokens.weight", 1.2)),
        "model.embed_tokens.weight",
        "times the 0.0",
    ),
    "PEFT's B": (
        lambda: lora(init_lora_weights=True),
        "q_proj",
        "B of default is not 0",
    ),
}


@pytest.mark.parametrize("name", FRESH)
def test_a_fresh_model_is_held_to_what_its_class_draws(name):
    build, place, says = FRESH[name]
    model = build()
    if name == "PEFT's B":
        assert ftlab.activations(model, batch(), fresh=True).ok
        for path, parameter in model.named_parameters():
            if "lora_B" in path:
                nn.init.normal_(parameter)
    assert ftlab.activations(model, batch()).ok
    found = ftlab.activations(model, batch(), fresh=True)
    told = [each for each in found.faults if says in each.said]
    assert told, found
    assert any(place in path for each in told for path in each.places), found


HEALTHY = {
    "attention": lambda: attending(""),
    "MLP": lambda: with_mlp(""),
    "norm": lambda: with_norm(""),
    "rotary": lambda: with_rotary(""),
    "block": lambda: with_block(""),
    "adapter": lambda: with_adapter(""),
    "trained adapter": lambda: with_adapter("trained"),
    "own model": OwnLanguageModel,
}


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_parts_of_ones_own_that_are_right_are_passed(name, dtype):
    model = HEALTHY[name]().to(dtype)
    found = ftlab.activations(model, batch())
    assert not found.faults, found
    assert found.summary.parts or name == "own model"


def test_parts_with_other_names_are_passed_and_told_not_to_be_compared():
    model = stirred()
    first, second = model.model.layers
    first.mlp = own_parts.OtherMLP(first.mlp, ("w1", "w3", "w2"))
    second.mlp = own_parts.OtherMLP(second.mlp, ("gate", "up", "down"))
    first.input_layernorm = own_parts.OtherNorm(first.input_layernorm)
    found = ftlab.activations(model, batch())
    assert not found.faults, found
    places = [each.split(" ")[0] for each in found.summary.unchecked]
    assert len(places) == 3
    assert places[0] == "model.layers.0.input_layernorm"


def test_what_no_mistake_explains_is_a_warning():
    model = stirred()
    mlp = model.model.layers[0].mlp
    mlp.forward = lambda x: mlp.down_proj(mlp.up_proj(x).sin())
    (fault,) = ftlab.activations(model, batch()).faults
    assert fault.severity == "warning"
    assert "no known mistake explains it" in fault.said


class SquaredReLU(modeling_llama.LlamaMLP):
    """A choice of its author, and no mistake that is known."""

    def forward(self, x):
        gate = nn.functional.relu(self.gate_proj(x)).square()
        return self.down_proj(gate * self.up_proj(x))


def test_a_class_of_ones_own_that_differs_on_purpose_is_a_note_on_all_places():
    model = stirred()
    for layer in model.model.layers:
        layer.mlp.__class__ = SquaredReLU
    found = ftlab.activations(model, batch())
    (fault,) = found.faults
    assert (fault.severity, len(fault.places), found.ok) == ("info", 2, True)
    assert "SquaredReLU differs from transformers' LlamaMLP" in fault.said


ADDED = ("self_attn.o_proj.weight", "mlp.down_proj.weight")


def zeroed(names):
    model = stirred()
    for name in names:
        model.model.layers[1].get_parameter(name).data.zero_()
    return ftlab.activations(model, batch())


def test_a_block_that_begins_as_nothing_is_a_note():
    (fault,) = (found := zeroed(ADDED)).faults
    assert (fault.severity, len(fault.places), found.ok) == ("info", 2, True)
    assert "the block adds nothing until it is trained" in fault.said


@pytest.mark.parametrize(
    "names", [ADDED[:1], ADDED[1:], (*ADDED, "mlp.up_proj.weight")]
)
def test_a_part_or_more_than_the_ends_of_a_block_at_0_is_a_fault(names):
    assert not zeroed(names).ok


def test_a_check_of_ones_own_is_run_and_taken_out_again():
    def unit_size(site):
        if not site.close(site.output, site.input):
            yield site.fault("it is no identity")

    ftlab.activations.register(own_parts.MLP)(unit_size)
    try:
        found = ftlab.activations(with_mlp(""), batch())
    finally:
        ftlab.activations.unregister(unit_size)
    (fault,) = found.faults
    assert (fault.component, fault.places) == ("unit size", (M,))
    assert ftlab.activations(with_mlp(""), batch()).ok


def test_a_check_that_fails_is_named_and_spoils_nothing():
    def broken(site):
        raise KeyError("nothing")

    ftlab.activations.register("LlamaMLP", name="mine")(broken)
    try:
        found = ftlab.activations(llama(), batch())
    finally:
        ftlab.activations.unregister(broken)
    assert found.ok
    assert any("mine of model.layers.0.mlp" in e for e in found.summary.unchecked)


def test_a_check_that_yields_no_fault_is_named():
    def broken(site):
        yield "it is wrong"

    ftlab.activations.register("LlamaMLP", name="mine")(broken)
    try:
        found = ftlab.activations(llama(), batch())
    finally:
        ftlab.activations.unregister(broken)
    assert found.ok
    said = "mine of model.layers.0.mlp (BadValueError: it yields 'it is wrong', no"
    assert any(said in each for each in found.summary.unchecked)


@pytest.mark.parametrize("given", ["ids", "tuple", "encoding"])
def test_other_batches_are_understood(given):
    from transformers import BatchEncoding

    ids = batch()["input_ids"]
    made = {
        "ids": ids,
        "tuple": (ids, torch.ones_like(ids)),
        "encoding": BatchEncoding({"input_ids": ids}),
    }
    assert ftlab.activations(llama(), made[given]).summary.tokens == ids.numel()


@pytest.mark.parametrize(
    ("model", "given", "says"),
    [
        (llama, "text", "batch is a str; pass a dictionary"),
        (llama, {"words": torch.ones(1)}, "cannot be called with this batch"),
        (lambda: llama().to("meta"), torch.ones(1, 2), "on the meta device"),
        (lambda: None, torch.ones(1, 2), r"one: activations\(model, batch\)"),
        (lambda: "gpt2-of-nowhere", torch.ones(1, 2), "holds neither config.json"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(model, given, says):
    with pytest.raises(BadValueError, match=says):
        ftlab.activations(model(), given)


def test_a_registration_for_nothing_is_refused():
    with pytest.raises(BadValueError, match="a check is for a class"):
        ftlab.activations.register(3)
    with pytest.raises(BadValueError, match="is no regular expression"):
        ftlab.activations.register("*Norm")


def test_all_forms_tell_the_same():
    view = ftlab.activations(attending("unscaled"), batch())
    assert list(view.table()["place"]) == ["input", "layers.0", "layers.1"]
    assert view.figure().axes
    assert "not scaled" in view.widget().children[0].value
    assert "not scaled" in repr(view)
    assert {"name", "std", "prescribed"} <= set(view.parameters().columns)
    assert copy.copy(view).ok is False
