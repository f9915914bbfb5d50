"""What is said of a Trainer's decisions is what a real Trainer does."""

import contextlib
import json
from pathlib import Path

import datasets
import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors import safe_open
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    LlamaForCausalLM,
    Trainer,
    TrainingArguments,
)

import ftlab
from ftlab.faults.builders.tiny import llama, lora
from tests.laboratory.modules.wrapped import (
    ALONE,
    TOGETHER,
    Delegating,
    Named,
    Starred,
    Told,
    one_process,
)
from tests.models import tiny_4bit

ROWS = datasets.Dataset.from_list(
    [
        {"input_ids": [n + 3] * 8, "attention_mask": [1] * 8, "labels": [n + 3] * 8}
        for n in range(4)
    ]
)


def a_trainer(model, folder, **settings):
    options = TrainingArguments(
        str(folder),
        **{
            "max_steps": 1,
            "save_strategy": "steps",
            "save_steps": 1,
            "use_cpu": True,
            "report_to": [],
            "disable_tqdm": True,
            "logging_strategy": "no",
            "per_device_train_batch_size": 2,
            "remove_unused_columns": False,
        }
        | settings,
    )
    return Trainer(model, options, train_dataset=ROWS, eval_dataset=ROWS)


def states(view):
    return {each.what: each.state for each in view.anatomy.seen}


def raised(call, kind=Exception):
    try:
        call()
    except kind as error:
        return type(error).__name__
    return ""


def columns_removed(trainer):
    trainer.args.remove_unused_columns = True
    try:
        return raised(lambda: trainer._remove_unused_columns(ROWS))
    finally:
        trainer.args.remove_unused_columns = False


def becomes_parallel(trainer, model):
    trainer.args._n_gpu = 2
    try:
        made = trainer._wrap_model(model)
        return made is not model and type(made) is torch.nn.DataParallel
    finally:
        trainer.args._n_gpu = 0


def moments(trainer):
    kept = trainer.optimizer.state.values()
    return sum(one[n].nbytes for one in kept for n in ("exp_avg", "exp_avg_sq"))


def written(folder):
    """Return bytes of tensors in a checkpoint, and their keys."""
    size, keys = 0, []
    for file in (Path(folder) / "checkpoint-1").glob("*.safetensors"):
        with safe_open(file, "pt") as held:
            keys += held.keys()
            size += sum(held.get_tensor(key).nbytes for key in held.keys())  # noqa: SIM118
    return size, keys


def check(make, folder):
    model = make()
    view = ftlab.model(model)
    told = states(view)
    trainer = a_trainer(model, folder)
    assert (columns_removed(trainer) == "ValueError") == (told["columns"] == "fails")
    assert (not trainer.label_names) == (told["evaluation"] == "costs")
    says = next(e for e in view.anatomy.seen if e.what == "accumulation")
    accepts = says.state == "works" or "takes **kwargs" in says.sees
    assert trainer.model_accepts_loss_kwargs == accepts
    assert becomes_parallel(trainer, model) == ("several GPUs" in told)
    recomputes = "AttributeError" if "gradient_checkpointing_enable" in told else ""
    try_on = a_trainer(model, folder, gradient_checkpointing=True, save_strategy="no")
    assert raised(try_on.train, AttributeError) == recomputes
    failed = raised(trainer.train, RuntimeError)
    assert bool(trainer.optimizer.state)
    assert moments(trainer) == view.anatomy.sizes["AdamW's two moments"]
    return view, failed


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(e, marks=pytest.mark.slow if e.startswith("compiled") else ())
        for e in ALONE
    ],
)
def test_a_trainer_does_what_is_said(name, tmp_path):
    checked_with_its_checkpoint(ALONE[name], tmp_path)


@pytest.mark.parametrize("name", TOGETHER)
def test_a_trainer_does_what_is_said_of_ranks(name, tmp_path):
    with one_process():
        checked_with_its_checkpoint(TOGETHER[name], tmp_path)


def checked_with_its_checkpoint(make, folder):
    view, failed = check(make, folder)
    says = [each for each in view.anatomy.seen if each.what == "checkpoints"]
    if any("RuntimeError" in each.means for each in says):
        assert failed
        return
    assert not failed
    size, keys = written(folder)
    assert size == view.anatomy.sizes["each checkpoint"]
    if any("without a single tensor" in each.means for each in says):
        assert not keys
    hidden = any("adapter_config.json" in each.means for each in says)
    has_adapters = any(each.adapters for each in view.anatomy.modules)
    alone = (Path(folder) / "checkpoint-1" / "adapter_config.json").exists()
    assert hidden == (has_adapters and not alone)
    whole = written_whole(view)
    if hidden and whole:
        assert size > 5 * whole


def written_whole(view):
    """Return the bytes of adapters by the table, a second way to count them."""
    rows = view.table()
    return int(rows[rows["trainable"] > 0]["own"].sum()) * 4


@pytest.mark.parametrize("name", ["compiled", "DataParallel"])
def test_a_renamed_checkpoint_loads_nothing(name, tmp_path):
    model = ALONE[name]()
    says = ftlab.model(model).trainer()
    assert says["means"].str.contains("draws all of them anew").any()
    a_trainer(model, tmp_path).train()
    loaded = LlamaForCausalLM.from_pretrained(tmp_path / "checkpoint-1")
    inner = getattr(model, "_orig_mod", None) or model.module
    assert not torch.equal(loaded.lm_head.weight, inner.lm_head.weight)


def test_is_quiet_on_healthy_models():
    for name in ("PeftModel", "whole", "tied", "inheritance, tied", "add_adapter"):
        assert not {"fails", "costs"} & set(states(ftlab.model(ALONE[name]())).values())


SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
FAMILIES = (
    *("llama", "qwen2", "qwen3", "gemma", "gemma2", "mistral", "mixtral", "phi3"),
    *("olmo2", "cohere", "granite", "stablelm", "opt", "gpt_neox"),
)


@pytest.mark.parametrize("family", FAMILIES)
def test_is_quiet_on_families(family):
    config = AutoConfig.for_model(family, **SIZES)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    check_silence(ftlab.model(model))
    adapted = get_peft_model(model, LoraConfig(target_modules="all-linear"))
    check_silence(ftlab.model(adapted))


def check_silence(view):
    assert not {"fails", "costs", "not checked"} & set(states(view).values())
    assert not any(line.odd for kind in view.kinds for line in kind.lines)


FEW = {
    "bare": (lambda m: m, "fails"),
    "with adapters": (lora, "works"),
    "hidden": (Named, "costs"),
    "hidden with adapters": (lambda m: Named(lora(m)), "costs"),
    "handed on": (lambda m: Delegating(lora(m)), "fails"),
    "compiled": (lambda m: torch.compile(lora(m), backend="eager"), "fails"),
    "mended": (lambda m: lora(Told(m), task_type=None), "works"),
}


@pytest.mark.parametrize("name", FEW)
def test_few_bits_are_refused_where_it_is_said(name, tmp_path):
    around, expected = FEW[name]
    model = around(tiny_4bit(tmp_path / "base"))
    view = ftlab.model(model)
    assert states(view)["few bits"] == expected
    assert bool(raised(lambda: a_trainer(model, tmp_path), ValueError)) == (
        expected == "fails"
    )
    if expected == "fails":
        return
    trainer = a_trainer(model, tmp_path)
    told = states(view)
    assert becomes_parallel(trainer, model) == ("several GPUs" in told)
    trainer.train()
    size, _ = written(tmp_path)
    predicted = view.anatomy.sizes["each checkpoint"]
    # what bitsandbytes writes of each layer's settings, as text, is not predicted
    assert predicted <= size <= predicted + 256 * 14


ASKED = {
    "config": {"label_smoothing_factor": 0.1},
    "get_input_embeddings": {"neftune_noise_alpha": 5.0},
    "gradient_checkpointing_enable": {"gradient_checkpointing": True},
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("around", [Named, Delegating, lambda model: model])
def test_what_is_asked_for_by_name_raises_where_it_is_not(name, around, tmp_path):
    model = around(lora())
    missing = name in states(ftlab.model(model))

    def run():
        settings = {"save_strategy": "no", **ASKED[name]}
        a_trainer(model, tmp_path, **settings).train()

    assert missing == (type(model) is Named)
    assert raised(run, AttributeError) == ("AttributeError" if missing else "")


@pytest.mark.parametrize("around", [Starred, Named])
def test_without_names_of_labels_there_is_no_loss_to_choose_by(around, tmp_path):
    model = around(lora())
    best = {"load_best_model_at_end": True, "eval_strategy": "steps", "eval_steps": 1}
    trainer = a_trainer(model, tmp_path, **best)
    costs = states(ftlab.model(model))["evaluation"] == "costs"
    assert ("eval_loss" not in trainer.evaluate()) == costs
    assert raised(trainer.train, KeyError) == ("KeyError" if costs else "")


def test_what_learns_beside_adapters_is_counted():
    model = lora()
    assert not ftlab.model(model).trainer()["sees"].str.contains("no adapter's").any()
    weight = model.base_model.model.lm_head.weight
    weight.requires_grad_(True)
    rows = ftlab.model(model).trainer()
    (cost,) = rows[rows["sees"].str.contains("no adapter's")]["bytes"]
    assert cost == 3 * weight.nbytes


@pytest.mark.parametrize("parallel", [False, True])
def test_a_device_map_is_seen_or_hidden(parallel, tmp_path):
    model = lora()
    devices = ("cpu", "meta") if parallel else ("cpu", "cpu")
    places = ("base_model.model.model", "base_model.model.lm_head")
    model.hf_device_map = dict(zip(places, devices, strict=True))
    view = ftlab.model(model)
    assert view.anatomy.placed["cpu"][0][0] == places[0]
    shown = next(each for each in view.anatomy.seen if each.what == "devices")
    trainer = a_trainer(model, tmp_path)
    assert shown.state == "noted"
    assert trainer.is_model_parallel == parallel or "one GPU" not in shown.means
    hidden = next(
        e for e in ftlab.model(Named(model)).anatomy.seen if e.what == "devices"
    )
    assert hidden.state == "costs"
    assert not a_trainer(Named(model), tmp_path).is_model_parallel


def test_what_is_offloaded_behind_a_wrapper_cannot_be_moved(tmp_path):
    from accelerate import disk_offload

    model = llama()
    disk_offload(model, tmp_path / "off", execution_device=torch.device("cpu"))
    model.hf_device_map = {"": "disk"}
    assert states(ftlab.model(model))["devices"] == "noted"
    assert "disk is never moved" in ftlab.model(model).trainer()["means"].str.cat()
    hidden = Named(model)
    assert states(ftlab.model(hidden))["devices"] == "fails"
    with pytest.raises(NotImplementedError):
        a_trainer(hidden, tmp_path)


def test_without_transformers_nothing_is_said(monkeypatch):
    import sys

    kept = {n: m for n, m in sys.modules.items() if n != "transformers"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(sys, "modules", kept)
        view = ftlab.model(torch.nn.Linear(2, 2))
    assert states(view) == {"a Trainer": "not checked"}
    assert json.dumps(view.widget().spec)
