"""Combined adapters: each type's distance from the sum, computed twice."""

import math
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

import ftlab
from ftlab.faults.builders.tiny import batches, gpt2, llama
from ftlab.records.errors import BadValueError
from ftlab.views.view import png
from tests.laboratory.test_swap import drawn, state
from tests.versions import older_than

WEIGHTS = {"default": 0.7, "more": -0.4}
POSITIVE = {"default": 0.7, "more": 0.4}
ALL = [
    "svd",
    "linear",
    "cat",
    "ties",
    "ties_svd",
    "dare_ties",
    "dare_linear",
    "dare_ties_svd",
    "dare_linear_svd",
    "magnitude_prune",
    "magnitude_prune_svd",
]
ROOTS = {"linear", "ties", "dare_ties", "dare_linear", "magnitude_prune"}
REFUSED = ROOTS if older_than("peft", "0.18") else set()
"""Types for which PEFT 0.17 takes roots of weights, and so refuses negative ones."""
SCALED_TWICE = older_than("peft", "0.21")
"""Whether PEFT multiplies by each scaling once more where it takes an SVD."""


def two(base: Any = None, targets: Any = ("q_proj", "v_proj"), **settings: Any) -> Any:
    """Return a model with two adapters, drawn at random; the second has alpha 24."""
    base = llama() if base is None else base
    config = {"task_type": "CAUSAL_LM", "target_modules": list(targets), "r": 4}
    model = get_peft_model(base, LoraConfig(**(config | settings)))
    other = {"lora_alpha": 24}
    model.add_adapter("more", LoraConfig(**(config | settings | other)))
    torch.manual_seed(5)
    for name, parameter in model.named_parameters():
        if any(f".{each}." in f"{name}." for each in WEIGHTS):
            parameter.data.add_(0.1 * torch.randn_like(parameter))
    return model


def combination(model: Any, weights: Any, batch: Any = None, **types: Any) -> Any:
    return ftlab.adapters(model, batch, combine=weights, **types).combinations


def dense(
    model: Any, kind: str, weights: dict[str, float]
) -> dict[str, tuple[Any, Any]]:
    """Return each layer's whole combined matrix, and the sum, on the model itself."""
    torch.manual_seed(0)
    names, values = list(weights), list(weights.values())
    settings = {"combination_type": kind, "density": 0.5}
    model.add_weighted_adapter(names, values, "made", **settings)
    found = {}
    for name, module in model.named_modules():
        if hasattr(module, "lora_A") and "made" in module.scaling:
            parts = [
                w * module.get_delta_weight(n).detach().double()
                for n, w in weights.items()
            ]
            made = module.get_delta_weight("made").detach().double()
            found[name] = made, sum(parts)
    return found


def asked(*kinds: str) -> Any:
    """Return weights for each type: of both signs, where PEFT takes these."""
    every = [(k, w) for k in kinds for w in (WEIGHTS, POSITIVE)]
    return pytest.mark.parametrize(
        ("kind", "weights"),
        [e for e in every if e[0] not in REFUSED or e[1] is POSITIVE],
    )


@asked(*ALL)
def test_distances_are_those_of_whole_matrices(
    kind: str, weights: dict[str, float]
) -> None:
    view = combination(two(), weights, batches()[0], types=[kind])
    (found,) = view.combinations.combinations
    model = two()
    whole = list(dense(model, kind, weights).values())
    assert len(found.layers) == len(whole) == 4
    for layer, (made, asked) in zip(found.layers, whole, strict=True):
        _, distance, size = layer
        assert size == pytest.approx(float(asked.norm()), rel=1e-6)
        apart = float((made - asked).norm())
        # PEFT's dense product is rounded to float32
        assert distance == pytest.approx(apart, rel=1e-5, abs=1e-6 * size)
    apart = math.sqrt(sum(float((m - a).norm()) ** 2 for m, a in whole))
    size = math.sqrt(sum(float(a.norm()) ** 2 for _, a in whole))
    assert found.relative == pytest.approx(apart / size, rel=1e-5, abs=1e-6)
    assert (kind in view.combinations.exact) == (kind == "cat")
    assert found.rank == (8 if kind == "cat" else 4)


@pytest.mark.parametrize("strong", [False, True])
@asked("linear", "svd", "cat")
def test_the_effect_is_that_of_sums_in_the_weights(
    kind: str, weights: dict[str, float], strong: bool
) -> None:
    model = two(use_rslora=strong)
    batch = batches()[0]
    view = combination(model, weights, batch, types=[kind])
    (found,) = view.combinations.combinations
    answers = []
    for at in (0, 1, None):  # what was made, the sum, the base
        twin = two(use_rslora=strong)
        updates = dense(twin, kind, weights)
        twin.eval()
        for name, module in twin.named_modules():
            if name in updates and at is not None:
                module.base_layer.weight.data += updates[name][at].float()
        with torch.no_grad(), twin.disable_adapter():
            answers.append(twin(**batch).logits.double().log_softmax(-1))
    made, asked, base = answers
    kl = (made.exp() * (made - asked)).sum(-1).mean()
    assert found.moved == pytest.approx(float(kl), rel=1e-3, abs=1e-9)
    whole = (asked.exp() * (asked - base)).sum(-1).mean()
    assert view.combinations.moved == pytest.approx(float(whole), rel=1e-3)
    turned = (made.argmax(-1) != asked.argmax(-1)).double().mean()
    assert found.turned == pytest.approx(float(turned))


def test_all_types_that_peft_has_are_tried_and_nothing_is_left() -> None:
    model = two()
    model.train()
    before = state(model)
    view = combination(model, WEIGHTS, batches()[0])
    assert [each.kind for each in view.combinations.combinations] == ALL
    refused = {e.kind: e.why for e in view.combinations.combinations if e.why}
    assert refused == dict.fromkeys(REFUSED, "ValueError: math domain error")
    assert state(model) == before
    off = {e.kind: e.relative for e in view.combinations.combinations if not e.why}
    nearest = min(off.keys() - {"cat"}, key=off.__getitem__)
    assert (nearest == "svd") is not SCALED_TWICE
    assert view.headline().startswith(
        f"0.7 x default + -0.4 x more: cat is exact; {nearest}, the "
    )
    assert len(view.table()) == 4 * (len(ALL) - len(REFUSED))
    assert png(view.figure()).startswith(b"\x89PNG")


def test_svd_is_the_nearest_of_its_rank_to_the_sum_that_peft_makes() -> None:
    model = two()
    (found,) = combination(model, WEIGHTS, types=["svd"]).combinations.combinations
    modules = [m for m in model.modules() if hasattr(m, "lora_A")]
    for (_, distance, _), module in zip(found.layers, modules, strict=True):
        made = asked = torch.zeros(module.weight.shape, dtype=torch.float64)
        for name, weight in WEIGHTS.items():
            update = weight * module.get_delta_weight(name).detach().double()
            asked = asked + update
            made = made + update * (module.scaling[name] if SCALED_TWICE else 1)
        u, values, v = torch.linalg.svd(made)
        nearest = u[:, :4] @ values[:4].diag() @ v[:4]
        assert distance == pytest.approx(float((nearest - asked).norm()), rel=1e-4)


def test_a_sum_with_rslora_is_too_strong_by_the_root_of_its_rank() -> None:
    view = combination(two(use_rslora=True), WEIGHTS, types=["cat"])
    (found,) = view.combinations.combinations
    assert found.scaling == pytest.approx(8**0.5)
    assert found.relative == pytest.approx(8**0.5 - 1)
    assert view.combinations.exact == ()
    assert "no type is exact; cat, the next, is off by 183%" in view.headline()


def test_what_else_is_lost_is_told() -> None:
    view = combination(two(use_dora=True), WEIGHTS, types=["cat"])
    assert view.combinations.combinations[0].lost == ("magnitudes",)
    assert view.combinations.exact == ()
    assert "cat, the next, is off by" in view.headline()
    assert "without magnitudes" in view.headline()
    view = combination(two(lora_bias=True), WEIGHTS, types=["cat"])
    assert view.combinations.combinations[0].lost == ("biases",)
    model = drawn("head", 1)
    model.add_adapter("more", LoraConfig(task_type="CAUSAL_LM", r=8))
    view = combination(model, {"default": 1.0, "more": 0.5}, types=["cat"])
    assert view.combinations.combinations[0].lost == ("heads",)


def test_what_peft_refuses_is_told_by_type() -> None:
    model = two()
    model.add_adapter(
        "large",
        LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj"], r=6),
    )
    found = combination(model, {"default": 0.5, "large": 0.5}, types=["linear", "cat"])
    linear, cat = found.combinations.combinations
    assert "same r value" in linear.why
    assert cat.why == ""
    assert "linear: refused by PEFT: ValueError: All adapters must" in repr(found)
    heads = two(modules_to_save=["lm_head"])
    none = combination(heads, WEIGHTS, batches()[0], types=["cat"])
    assert none.headline().endswith("no type is exact")
    assert "cat: refused by PEFT: ValueError: Cannot add weighted" in repr(none)


def test_embeddings_and_transposed_layers_are_combined_too() -> None:
    model = two(gpt2(), targets=["c_attn", "wte"])
    view = combination(model, WEIGHTS, batches()[0], types=["cat", "svd"])
    cat, svd = view.combinations.combinations
    assert view.combinations.exact == ("cat",)
    assert cat.moved < 1e-9
    assert svd.relative > 0.01
    assert cat.layers[0][0] == "embedding"


def test_bad_values_are_refused() -> None:
    model = two()
    given: list[tuple[Any, Any, dict[str, Any], str]] = [
        (model, {}, {}, "combine={}"),
        (model, {"default": 0.0, "more": 0}, {}, "combine="),
        (model, ["default"], {}, "combine="),
        (model, {"default": 0.5, "mor": 0.5}, {}, "LoRA adapters .'default', 'more'"),
        (model, {"default": "1"}, {}, "combine="),
        (model, {"default": float("inf")}, {}, "combine="),
        (drawn("ia3", 1), {"default": 1.0}, {}, "LoRA adapters .. in"),
        (llama(), {"default": 1.0}, {}, "has no adapter"),
        (model, WEIGHTS, {"types": ["mean"]}, "types=.*PEFT has svd, linear"),
        (model, WEIGHTS, {"types": "cat"}, "pass some in a tuple"),
    ]
    for model, weights, named, words in given:
        with pytest.raises(BadValueError, match=words):
            combination(model, weights, **named)


def test_the_model_stays_what_it_was_when_combining_is_cut_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from peft.tuners.lora import LoraModel

    model = two()
    before, plain = state(model), LoraModel.add_weighted_adapter

    def cut_short(*given: Any, **named: Any) -> None:
        plain(*given, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(LoraModel, "add_weighted_adapter", cut_short)
    monkeypatch.setattr("ftlab.laboratory.combining._kinds", lambda: ("cat",))
    with pytest.raises(KeyboardInterrupt):
        combination(model, WEIGHTS)
    assert state(model) == before
