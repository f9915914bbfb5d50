"""What transformers' Trainer decides by the object that it is given.

It asks the outermost object, in the same way as the Trainer does, for what it looks at:
a wrapper that does not hand an attribute on hides what is within it. Who calls whom:
`seen_by_trainer` gathers `Given` once, and each function below reads one decision from
it, in the order in which a Trainer makes them.
"""

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.laboratory.modules.saved import Saving, trained_bytes
from ftlab.laboratory.modules.wrapping import (
    AROUND,
    LIBRARIES,
    is_peft,
    package_of,
    pretrained,
)
from ftlab.records.model_anatomy import Seen, SeenState
from ftlab.records.sizes import size

READ_IN = "5.23"
"""The version of transformers in whose source these decisions were read; the tests hold
each against what a Trainer of the installed version does."""

METHODS = {
    "config": "label smoothing raises AttributeError, and token ids are not aligned "
    "with the tokenizer's",
    "get_input_embeddings": "neftune_noise_alpha raises AttributeError",
}
"""What an object must have, and what comes of it where it has not."""

BASE_FIX = "put your own parts on the base model, and get_peft_model around all of it"


@dataclass(frozen=True, slots=True)
class Given:
    """What a Trainer would be given, and what is within it.

    Attributes
    ----------
    few_bits, mapped
        Path of the model in few bits, and of what has an ``hf_device_map``; ``None``
        where there is none.
    strange
        Bytes of what learns and is no adapter's, where there are adapters.
    """

    outer: Any
    saving: Saving
    few_bits: str | None
    mapped: str | None
    weights: int
    strange: int

    def has(self, name: str) -> bool:
        """Tell whether the outermost object has an attribute."""
        return self.asked(name, _NOTHING) is not _NOTHING

    def asked(self, name: str, default: Any = None) -> Any:
        """Ask the outermost object, as a Trainer does."""
        try:
            return getattr(self.outer, name, default)
        except Exception:  # noqa: BLE001  a property of the user's own
            return default

    @property
    def kind(self) -> str:
        """Its class."""
        return type(self.outer).__name__


_NOTHING = object()


def seen_by_trainer(given: Given) -> tuple[Seen, ...]:
    """List a Trainer's decisions, those first that fail or cost."""
    if "transformers" not in sys.modules:
        says = "transformers is not imported; import it, and call model() again"
        return (Seen("not checked", "a Trainer", says),)
    readers = (
        *(_few_bits, _saved, _devices, _several_gpus, _columns, _evaluation),
        *(_accumulation, _recomputed, _methods, _training),
    )
    found = [each for read in readers for each in read(given)]
    order: list[SeenState] = ["fails", "costs", "not checked", "noted", "works"]
    return tuple(sorted(found, key=lambda each: order.index(each.state)))


def _few_bits(given: Given) -> Iterator[Seen]:
    """Read `transformers.trainer_utils.validate_quantization_for_training`."""
    if given.few_bits is None:
        return
    what = "few bits"
    bare = given.asked("is_quantized", False) and not given.asked(
        "_hf_peft_config_loaded", False
    )
    if not given.asked("is_quantized", False):
        learns = size(trained_bytes(given.outer)) if _learns(given) else "nothing"
        yield Seen(
            "costs",
            what,
            f"{given.kind} has no is_quantized: the model in few bits at "
            f"{given.few_bits or 'its place'} is hidden",
            f"it is not refused where nothing but few bits could be trained ({learns} "
            "of parameters learns), and on several GPUs DataParallel copies it",
            given.weights,
            "give the wrapper's is_quantized, is_loaded_in_4bit and "
            "quantization_method the model's values, or pass the PeftModel itself",
        )
    elif bare and given.has("_orig_mod"):
        says = "ValueError: a compiled model in few bits; compile after training"
        yield Seen("fails", what, "is_quantized and _orig_mod", says)
    elif bare and not is_peft(given.outer) and not _trains_quantised(given):
        yield Seen(
            "fails",
            what,
            f"is_quantized, and {given.kind} is no PeftModel",
            "ValueError: purely quantized models are not trained",
            fix="get_peft_model around the model, and that given to the Trainer",
        )
    else:
        yield Seen("works", what, "is_quantized, with adapters")


def _learns(given: Given) -> bool:
    return any(each.requires_grad for each in given.outer.parameters())


def _trains_quantised(given: Given) -> bool:
    return bool(getattr(given.asked("hf_quantizer"), "is_qat_trainable", False))


def _saved(given: Given) -> Iterator[Seen]:
    """Read `Trainer._save`."""
    saving, what = given.saving, "checkpoints"
    hidden = saving.adapters and saving.way != "adapters"
    if saving.way == "empty":
        yield Seen(
            "fails",
            what,
            f"a PeftModel within {given.kind}, whose keys begin with {saving.prefix!r}",
            "adapter_model.safetensors is written without a single tensor",
            fix=f"pass the model within {given.kind}; the Trainer wraps it by itself",
        )
    elif saving.way == "sharded":
        yield Seen(
            "fails",
            what,
            f"{given.kind} holds shards (DTensor)",
            "RuntimeError at the first checkpoint: safetensors writes no shards",
            fix="give the Trainer the whole model, and fsdp in its arguments",
        )
    elif saving.way == "renamed":
        yield Seen(
            "fails",
            what,
            f"a model within {given.kind}, whose keys begin with {saving.prefix!r}",
            "from_pretrained finds no weight by its name and draws all of them anew",
            fix=f"pass the model within {given.kind}; the Trainer wraps it by itself",
        )
    elif saving.shared and saving.way == "state dict":
        yield Seen(
            "fails",
            what,
            f"{given.kind} is no PreTrainedModel and has tied weights "
            f"({' = '.join(saving.shared[:2])})",
            "RuntimeError at the first checkpoint: safetensors does not write tensors "
            "that share memory",
            fix="derive the wrapper from PreTrainedModel, with _tied_weights_keys",
        )
    if hidden and saving.way in ("state dict", "whole"):
        yield Seen(
            "costs",
            what,
            f"{given.kind} is no PeftModel: the adapters at "
            f"{saving.holder or 'its layers'} are hidden",
            f"each holds the whole model, {size(saving.whole)}, in place of the "
            f"adapters' {size(saving.adapters)}, and no adapter_config.json",
            saving.whole - saving.adapters,
            BASE_FIX,
        )
    elif saving.way == "adapters":
        means = f"each holds the adapters alone, {size(saving.adapters)}"
        yield Seen("works", what, given.kind, means, saving.adapters)
    elif saving.way == "state dict":
        means = f"each is a state dict of {size(saving.whole)}, without config.json"
        yield Seen("noted", what, f"{given.kind} is no PreTrainedModel", means)
    elif saving.way == "whole":
        means = f"each holds the whole model, {size(saving.whole)}"
        yield Seen("works", what, given.kind, means, saving.whole)


def _devices(given: Given) -> Iterator[Seen]:
    """Read `Trainer.__init__` on ``hf_device_map``, and `_move_model_to_device`."""
    held = given.asked("hf_device_map")
    sees = f"{given.kind} has no hf_device_map"
    if held is None and any(each.is_meta for each in given.outer.parameters()):
        means = "NotImplementedError: what has no values here cannot be moved"
        yield Seen("fails", "devices", sees, means)
    elif held is None and given.mapped is not None:
        sees += f": that of {given.mapped} is hidden"
        means = "all of it is moved to one device"
        fix = "give the wrapper the model's hf_device_map"
        yield Seen("costs", "devices", sees, means, given.weights, fix)
    if held is None:
        return
    there = {str(each) for each in held.values()}
    compute = there - {"cpu", "disk"}
    means = "it stays where it is"
    if len(compute) > 1:
        means += "; one GPU computes at a time (is_model_parallel)"
    if there - compute:
        means += f"; what is on {' and '.join(sorted(there - compute))} is never moved"
    yield Seen("noted", "devices", f"hf_device_map: {', '.join(sorted(there))}", means)


def _several_gpus(given: Given) -> Iterator[Seen]:
    """Read `Trainer._wrap_model` where ``args.n_gpu`` is more than 1."""
    wrapped = given.kind in AROUND and package_of(type(given.outer)) in LIBRARIES
    loaded = (given.asked(f"is_loaded_in_{n}bit", False) for n in (4, 8))
    parallel = given.asked("hf_device_map") or {}
    if wrapped or any(loaded) or len({str(e) for e in parallel.values()}) > 1:
        return
    here = torch.cuda.device_count() if torch.cuda.is_available() else 0
    yield Seen(
        "costs" if here > 1 else "noted",
        "several GPUs",
        f"nothing that forbids DataParallel; GPUs here: {here}",
        "without torchrun, each further GPU gets a copy of all weights in each step, "
        f"{size(given.weights)}",
        given.weights,
        "torchrun, or CUDA_VISIBLE_DEVICES=0",
    )


def _signature(given: Given, *, within_peft: bool) -> list[inspect.Parameter]:
    outer = given.outer
    if within_peft and is_peft(outer):
        outer = getattr(outer, "get_base_model", lambda: outer.base_model.model)()
    return list(inspect.signature(outer.forward).parameters.values())


def _columns(given: Given) -> Iterator[Seen]:
    """Read `Trainer._set_signature_columns_if_needed` and `_remove_unused_columns`."""
    taken = _signature(given, within_peft=True)
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [each.name for each in taken if each.kind not in open_ended]
    if names:
        some = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        means = "all other columns of the dataset are dropped"
        yield Seen("works", "columns", f"forward takes {some}", means)
        return
    yield Seen(
        "fails",
        "columns",
        f"forward takes {', '.join(map(str, taken)) or 'nothing'} by name",
        "ValueError: no column of the dataset matches",
        fix="name the arguments in the wrapper's forward, or set "
        "remove_unused_columns=False",
    )


def _evaluation(given: Given) -> Iterator[Seen]:
    """Read `find_labels` and `can_return_loss`, which look at the class."""
    outer = given.outer
    if is_peft(outer):
        outer = getattr(outer, "get_base_model", lambda: outer.base_model.model)()
    taken = inspect.signature(type(outer).forward).parameters
    spans = {"start_positions", "end_positions"}
    asking = spans if "QuestionAnswering" in type(outer).__name__ else set[str]()
    labels = [name for name in taken if "label" in name or name in asking]
    returns = "return_loss" in taken and taken["return_loss"].default is True
    if labels or returns:
        yield Seen("works", "evaluation", f"labels: {', '.join(labels) or 'none'}")
        return
    yield Seen(
        "costs",
        "evaluation",
        f"forward of {type(outer).__name__} names no labels",
        "evaluate() gives no eval_loss; load_best_model_at_end by it raises KeyError",
        fix='name labels in forward, or set label_names=["labels"]',
    )


def _accumulation(given: Given) -> Iterator[Seen]:
    """Read ``model_accepts_loss_kwargs``."""
    outer = given.saving.around
    if is_peft(outer):
        outer = getattr(outer, "get_base_model", lambda: outer.base_model.model)()
    accepts = getattr(outer, "accepts_loss_kwargs", None)
    if accepts is None:
        kinds = [e.kind for e in inspect.signature(outer.forward).parameters.values()]
        accepts = inspect.Parameter.VAR_KEYWORD in kinds
    what, own = "accumulation", package_of(type(outer)) not in LIBRARIES
    if accepts and own and not pretrained(outer):
        sees = f"forward of {type(outer).__name__} takes **kwargs"
        means = (
            "it is given num_items_in_batch, and the loss is not divided by the "
            "accumulation steps: hand it on to the model"
        )
        yield Seen("noted", what, sees, means)
    elif accepts:
        yield Seen("works", what, "num_items_in_batch is handed on")
    else:
        means = (
            "num_items_in_batch is not given: the loss is a mean of each micro-batch's "
            "mean, where short answers count as much as long ones"
        )
        sees = f"forward of {type(outer).__name__} takes no **kwargs"
        yield Seen("costs" if own else "noted", what, sees, means, fix=_KWARGS)


_KWARGS = "let forward take **kwargs and hand them on to the model"


def _recomputed(given: Given) -> Iterator[Seen]:
    """Read what ``gradient_checkpointing=True`` calls."""
    names = ("activation_checkpointing_enable", "gradient_checkpointing_enable")
    found = [name for name in names if given.has(name)]
    if found:
        yield Seen("works", "gradient checkpointing", f"has {found[0]}")
        return
    sees = f"{given.kind} has no gradient_checkpointing_enable"
    means = "gradient_checkpointing=True raises AttributeError as training begins"
    fix = "hand the method on, or call it on the model before"
    yield Seen("noted", "gradient checkpointing", sees, means, fix=fix)


def _methods(given: Given) -> Iterator[Seen]:
    """Read what is asked for by name."""
    for name, means in METHODS.items():
        if not given.has(name):
            yield Seen("noted", name, f"{given.kind} has no {name}", means)


def _training(given: Given) -> Iterator[Seen]:
    """Predict gradients and AdamW's moments, which have the parameters' dtype."""
    learns = trained_bytes(given.outer)
    words = f"gradients {size(learns)}, AdamW's two moments {size(2 * learns)}"
    yield Seen("noted", "training", "requires_grad alone", words, 3 * learns)
    if given.strange:
        yield Seen(
            "costs",
            "training",
            f"{size(given.strange)} of what learns is no adapter's",
            f"gradients and moments of it take {size(3 * given.strange)}",
            3 * given.strange,
            "requires_grad_(False) on the base, if the adapters alone are to learn",
        )
