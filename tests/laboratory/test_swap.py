"""Hot swapping: nothing changes but the adapter, and what changes is named."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import (
    AdaptionPromptConfig,
    IA3Config,
    LoraConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptTuningConfig,
    VBLoRAConfig,
    get_peft_model,
)
from peft.tuners.lora.layer import LoraLayer
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

import ftlab
from ftlab.faults.builders.tiny import batches, llama, lora
from ftlab.records.errors import BadValueError
from tests.versions import older_than

CAUSAL = {"task_type": "CAUSAL_LM"}
PROJECTIONS = {**CAUSAL, "target_modules": ["q_proj", "v_proj"]}
NAMES = ("math", "chat", "code", "poem")
METHODS: dict[str, Callable[[], Any]] = {
    "lora": lambda: LoraConfig(**PROJECTIONS),
    "dora": lambda: LoraConfig(**PROJECTIONS, use_dora=True),
    "head": lambda: LoraConfig(**PROJECTIONS, modules_to_save=["lm_head"]),
    "ia3": lambda: IA3Config(
        **CAUSAL,
        target_modules=["k_proj", "down_proj"],
        feedforward_modules=["down_proj"],
    ),
    "vblora": lambda: VBLoRAConfig(
        **PROJECTIONS, vector_length=16, num_vectors=16, topk=2
    ),
    "adaption": lambda: AdaptionPromptConfig(**CAUSAL, adapter_layers=2, adapter_len=4),
    "prefix": lambda: PrefixTuningConfig(**CAUSAL, num_virtual_tokens=4),
    "prompt": lambda: PromptTuningConfig(**CAUSAL, num_virtual_tokens=4),
}

STAY = {"adaption", "prefix", "prompt"} if older_than("peft", "0.21") else set()
"""Methods whose adapters this PEFT cannot delete: it asks the base model to."""


def drawn(method: str, seed: int, base: Any = None) -> Any:
    """Return a model with an adapter of that method, drawn at random."""
    model = get_peft_model(llama() if base is None else base, METHODS[method]())
    torch.manual_seed(seed)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data.add_(0.2 * torch.randn_like(parameter))
    return model


def stored(folder: Path, method: str = "lora", count: int = 2) -> dict[str, Path]:
    """Write adapters of that method into folders."""
    found = {}
    for at in range(count):
        name = NAMES[at]
        drawn(method, at + 1).save_pretrained(folder / name)
        found[name] = folder / name
    return found


def state(model: Any) -> Any:
    """Return all that swapping must leave as it is."""
    return (
        [(n, id(m), m.training, sorted(vars(m))) for n, m in model.named_modules()],
        [(n, id(p), p.requires_grad) for n, p in model.named_parameters()],
        [float(p.detach().double().sum()) for p in model.parameters()],
        [(n, id(b)) for n, b in model.named_buffers()],
        copy.deepcopy(getattr(model, "active_adapter", None)),
        sorted(getattr(model, "peft_config", {})),
        torch.get_rng_state().tolist(),
    )


@pytest.mark.parametrize("method", [each for each in METHODS if each not in STAY])
@pytest.mark.parametrize("live", [False, True])
def test_every_method_is_swapped_and_the_model_stays(
    tmp_path: Path, method: str, live: bool
) -> None:
    folders = stored(tmp_path, method)
    model = drawn(method, 9) if live else llama()
    model.train()
    before = state(model)
    view = ftlab.swap(model, folders, batches()[0], rounds=2, requests=12)
    assert view.equal, repr(view)
    assert state(model) == before
    assert view.swapped.alike == ()
    done = [(each.operation, each.adapter) for each in view.swapped.swaps]
    assert done[:4] == [
        ("load", "math"),
        ("activate", "math"),
        ("off", "math"),
        ("on", "math"),
    ]
    assert done[-2:] == [("delete", "math"), ("delete", "chat")]
    assert all(each.checks >= 4 for each in view.swapped.swaps)


@pytest.mark.parametrize("method", ["lora", *sorted(STAY)])
@pytest.mark.parametrize("live", [False, True])
def test_what_peft_cannot_delete_is_refused_and_the_model_stays(
    tmp_path: Path, method: str, live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(model: Any, name: str) -> None:
        raise TypeError(name)

    folders = stored(tmp_path, method)
    model = drawn(method, 9) if live else llama()
    before = state(model)
    if method not in STAY:
        monkeypatch.setattr(PeftModel, "delete_adapter", refuse)
    with pytest.raises(BadValueError, match="PEFT cannot delete 'math': TypeError"):
        ftlab.swap(model, folders, batches()[0], rounds=2, requests=0)
    assert state(model) == before


def test_memory_is_that_of_the_adapters_parameters(tmp_path: Path) -> None:
    own = [p.nbytes for p in drawn("lora", 1).parameters() if p.requires_grad]
    view = ftlab.swap(llama(), stored(tmp_path), batches()[0], rounds=1, requests=0)
    found = {(e.operation, e.adapter): e for e in view.swapped.swaps}
    for name in NAMES[:2]:
        assert found["load", name].nbytes == sum(own)
        assert found["delete", name].nbytes == -sum(own)
        assert found["activate", name].nbytes == found["off", name].nbytes == 0
        for each in found.values():
            assert min(each.seconds, each.first, each.second) > 0
    assert view.swapped.sent.switches == 0


def test_a_base_in_four_bits_is_swapped_on(tmp_path: Path) -> None:
    llama(hidden_size=128).save_pretrained(tmp_path / "base")
    for seed, name in enumerate(NAMES[:2]):
        made = drawn("lora", seed, llama(hidden_size=128))
        made.save_pretrained(tmp_path / name)
    config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
    model = AutoModelForCausalLM.from_pretrained(
        tmp_path / "base", quantization_config=config
    )
    before = state(model)
    folders = {name: tmp_path / name for name in NAMES[:2]}
    view = ftlab.swap(model, folders, batches()[0], rounds=1, requests=9)
    assert view.equal, repr(view)
    assert state(model) == before


def test_the_adapter_of_a_live_model_is_taken_and_it_stays_too() -> None:
    base, source = llama(), drawn("lora", 1)
    config = copy.deepcopy(source.peft_config["default"].to_dict())
    before = state(source)
    view = ftlab.swap(base, {"math": source}, batches()[0], rounds=1, requests=0)
    assert view.equal
    assert view.swapped.alike == ()
    assert state(source) == before
    assert source.peft_config["default"].to_dict() == config


def test_an_operation_that_changes_another_adapter_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = stored(tmp_path)
    model = llama()
    plain = LoraLayer.delete_adapter

    def careless(layer: Any, name: str) -> None:
        plain(layer, name)
        for other, part in layer.lora_B.items():
            if name == "math" and other == "chat" and part.out_features == 64:
                part.weight.data.mul_(2)

    monkeypatch.setattr(LoraLayer, "delete_adapter", careless)
    view = ftlab.swap(model, folders, batches()[0], rounds=1, requests=0)
    assert not view.equal
    assert view.headline() == (
        "after delete of math the model does not answer as it must: first at "
        "layers.0.attention.q.lora_B.chat (2 of 2 answers)"
    )
    parted = [each for each in view.swapped.swaps if each.unequal]
    found = [(each.operation, each.adapter, each.unequal) for each in parted]
    assert found == [("activate", "chat", 2), ("delete", "math", 2)]
    assert parted[0].since > parted[1].since  # it was activated once more, behind that


def test_an_operation_that_changes_the_base_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = stored(tmp_path, count=1)
    plain = PeftModel.load_adapter

    def careless(model: Any, *given: Any, **named: Any) -> Any:
        model.get_base_model().model.layers[1].mlp.up_proj.weight.data[0] += 1
        return plain(model, *given, **named)

    monkeypatch.setattr(PeftModel, "load_adapter", careless)
    view = ftlab.swap(llama(), folders, batches()[0], rounds=1, requests=0)
    assert "after load of math" in view.headline()
    assert "first at layers.1.mlp.up " in view.headline()
    assert not view.swapped.restored


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("method", ["update_layer", "set_adapter", "delete_adapter"])
def test_the_model_stays_what_it_was_when_swapping_is_cut_short(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
    live: bool,
    method: str,
) -> None:
    folders = stored(tmp_path)
    model = drawn("lora", 9) if live else llama()
    plain, calls = getattr(LoraLayer, method), []

    def cut_short(layer: Any, *given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) >= 6:
            raise error
        return plain(layer, *given, **named)

    before, answer = state(model), model(**batches()[0]).logits
    kinds = [type(layer) for layer in model.modules() if isinstance(layer, LoraLayer)]
    from peft.tuners.lora import Linear

    for kind in {LoraLayer, Linear, *kinds}:
        if method in vars(kind) or kind is LoraLayer:
            monkeypatch.setattr(kind, method, cut_short, raising=False)
    with pytest.raises((error, BadValueError)):
        ftlab.swap(model, folders, batches()[0], rounds=2, requests=0)
    monkeypatch.undo()
    assert len(calls) >= 6
    assert state(model) == before
    assert torch.equal(model(**batches()[0]).logits, answer)


def test_several_active_adapters_and_switched_off_ones_stay_so(tmp_path: Path) -> None:
    folders = stored(tmp_path)
    model = drawn("lora", 9)
    model.add_adapter("more", METHODS["lora"]())
    model.base_model.set_adapter(["default", "more"])
    model.base_model.disable_adapter_layers()
    before, answer = state(model), model(**batches()[0]).logits
    assert ftlab.swap(model, folders, batches()[0], rounds=1, requests=6).equal
    assert state(model) == before
    assert torch.equal(model(**batches()[0]).logits, answer)


def test_adapters_that_answer_alike_are_told(tmp_path: Path) -> None:
    twins = {"math": lora(llama()), "chat": lora(llama())}
    view = ftlab.swap(llama(), twins, batches()[0], rounds=1, requests=0)
    assert view.equal
    pairs = {("the base", "math"), ("the base", "chat"), ("math", "chat")}
    assert set(view.swapped.alike) == pairs
    assert "note: the base and math answer alike, and" in repr(view)


def test_what_fits_another_model_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    lora(llama(num_hidden_layers=4)).save_pretrained(tmp_path / "deep")
    lora(llama(hidden_size=128)).save_pretrained(tmp_path / "wide")
    drawn("ia3", 1).save_pretrained(tmp_path / "ia3")
    model = drawn("lora", 9)
    before = state(model)
    for name, words in (
        ("deep", "the folder also has .*layers.2"),
        ("wide", "cannot be put on .*size mismatch"),
        ("ia3", "cannot be put on .*IA3"),
        ("none", "no folder with adapter_config.json"),
    ):
        with pytest.raises(BadValueError, match=f"(?s){words}"):
            ftlab.swap(model, {"math": tmp_path / name}, batches()[0])
        assert state(model) == before
    short = lora(llama(num_hidden_layers=1))
    short.save_pretrained(tmp_path / "short")
    with pytest.raises(BadValueError, match=r"the folder lacks .*layers\.1"):
        ftlab.swap(llama(), {"math": tmp_path / "short"}, batches()[0])


def test_bad_values_are_refused(tmp_path: Path) -> None:
    folders, batch = stored(tmp_path, count=1), batches()[0]
    given: list[tuple[Any, Any, dict[str, Any], str]] = [
        (llama(), {}, {}, "adapters is {}"),
        (llama(), ["math"], {}, "adapters is"),
        (llama(), {1: "math"}, {}, "adapters is"),
        (llama(), {"math": 3}, {}, "'math' is <class 'int'>"),
        (llama(), folders, {"rounds": 0}, "rounds=0"),
        (llama(), folders, {"threads": True}, "threads=True"),
        (llama(), folders, {"requests": -1}, "requests=-1"),
        (
            drawn("lora", 1),
            {"default": folders["math"]},
            {},
            "has an adapter 'default'",
        ),
    ]
    for model, adapters, named, words in given:
        with pytest.raises(BadValueError, match=words):
            ftlab.swap(model, adapters, batch, **named)
    merged = drawn("lora", 1)
    merged.merge_adapter()
    with pytest.raises(BadValueError, match="merged"):
        ftlab.swap(merged, folders, batch)
    added = llama()
    added.add_adapter(METHODS["lora"]())
    with pytest.raises(BadValueError, match="without a PeftModel"):
        ftlab.swap(added, folders, batch)


def test_a_model_that_draws_at_random_is_refused(tmp_path: Path) -> None:
    model = llama()
    model.model.layers[0].register_forward_hook(
        lambda _module, _args, output: output + torch.randn_like(output)
    )
    with pytest.raises(BadValueError, match="does not answer this batch twice alike"):
        ftlab.swap(model, stored(tmp_path, count=1), batches()[0])


def test_all_forms_of_the_view_say_what_was_measured(tmp_path: Path) -> None:
    view = ftlab.swap(llama(), stored(tmp_path), batches()[0], rounds=1, requests=9)
    checks = sum(each.checks for each in view.swapped.swaps)
    assert view.headline() == (
        f"2 adapters swapped in 1 round: {checks} answers, all as they must be, bit "
        "for bit"
    )
    assert "9 requests from 4 threads at once: none was answered" in repr(view)
    assert list(view.table().operation) == [e.operation for e in view.swapped.swaps]
    assert len(view.figure().axes) == 3
