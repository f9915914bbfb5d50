"""What transformers' Trainer decides by the object that it is given.

It asks the outermost object, in the same way as the Trainer does, for what it looks at:
a wrapper that does not hand an attribute on hides what is within it. Who calls whom:
`seen_by_trainer` lets each function below read one decision from `Given`.
"""

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

import torch

from ftlab.laboratory.modules.idle import Idle
from ftlab.laboratory.modules.moments import Moments
from ftlab.laboratory.modules.saved import Saving, Way
from ftlab.laboratory.modules.wrapping import is_peft, is_wrapper, own, pretrained
from ftlab.records.model_anatomy import Seen, SeenState
from ftlab.records.sizes import size

READ_IN = "5.23"
"""The version of transformers in whose source these decisions were read; the tests hold
each against what a Trainer of the installed version does."""

NEEDED = {
    "config": (
        *("label_smoothing_factor", 0.0),
        "label_smoothing_factor=0, and smooth in the model's own loss",
    ),
    "get_input_embeddings": (
        *("neftune_noise_alpha", None),
        "hand get_input_embeddings on to the model within",
    ),
    "gradient_checkpointing_enable": (
        *("gradient_checkpointing", False),
        "call it on the model within, and leave the argument out",
    ),
}
"""What an object must have, the argument that asks for it, that argument's value where
it does not, and the fix."""

LOST: dict[Way, str] = {
    "empty": "adapter_model.safetensors is written without a single tensor",
    "renamed": "from_pretrained finds no weight by name and draws all of them anew",
    "sharded": "RuntimeError at the first checkpoint: safetensors writes no shards",
}
"""What becomes of checkpoints."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a Trainer would be given, and what is within it.

    ``few_bits`` and ``mapped`` are the paths of a model in few bits and of what has an
    ``hf_device_map``; ``weights`` and ``learns`` are bytes; ``strange`` are those, and
    the first one's name, of what learns beside adapters. ``idle`` says why nothing
    learns, ``args`` are a trainer's arguments, ``moments`` its optimizer's state.
    """

    outer: Any
    saving: Saving
    few_bits: str | None
    mapped: str | None
    weights: int
    learns: int
    strange: tuple[str, int]
    idle: Idle | None
    args: Any
    moments: Moments

    def argument(self, name: str, default: Any = None) -> Any:
        """Return a trainer's argument; the default where only a model was given."""
        value = getattr(self.args, name, default)
        return getattr(value, "value", value)

    def asked(self, name: str, default: Any = None) -> Any:
        """Ask the outermost object for an attribute, as a Trainer does."""
        try:
            return getattr(self.outer, name, default)
        except Exception:  # noqa: BLE001  a property of the user's own
            return default

    @property
    def kind(self) -> str:
        """Its class."""
        return type(self.outer).__name__


def seen_by_trainer(given: Given) -> tuple[Seen, ...]:
    """List a Trainer's decisions, those first that fail or cost."""
    if "transformers" not in sys.modules:
        says = "transformers is not imported; import it, and call model() again"
        return (Seen("not checked", "a Trainer", says),)
    found: list[Seen] = []
    for read in READERS:
        try:
            found += read(given)
        except Exception as error:  # noqa: BLE001  it is said in the view
            what = read.__name__.strip("_").replace("_", " ")
            found.append(Seen("not checked", what, f"{type(error).__name__}: {error}"))
    return tuple(sorted(found, key=lambda e: get_args(SeenState).index(e.state)))


def _few_bits(given: Given) -> Iterator[Seen]:
    """Read `transformers.trainer_utils.validate_quantization_for_training`."""
    what = "few bits"
    if given.few_bits is None:
        return
    bare = not given.asked("_hf_peft_config_loaded", False)
    aware = getattr(given.asked("hf_quantizer"), "is_qat_trainable", False)
    if not given.asked("is_quantized", False):
        sees = f"{given.kind} has no is_quantized: {given.few_bits} is hidden"
        means = f"it is trained whatever learns ({size(given.learns)} do)"
        fix = (
            "hand on is_quantized and is_loaded_in_4bit, and get_peft_model around all"
        )
        yield Seen("costs", what, sees, means, given.weights, fix)
    elif bare and given.asked("_orig_mod") is not None:
        says = "ValueError: a compiled model in few bits is not trained"
        yield Seen("fails", what, "is_quantized and _orig_mod", says)
    elif bare and not is_peft(given.outer) and not aware:
        sees = f"is_quantized, and {given.kind} is no PeftModel"
        means = "ValueError: purely quantized models are not trained"
        fix = "get_peft_model around the model, and that given to the Trainer"
        yield Seen("fails", what, sees, means, fix=fix)
    else:
        yield Seen("works", what, "is_quantized, with adapters")


def _checkpoints(given: Given) -> Iterator[Seen]:
    """Read what `Trainer._save` does, and whether ``train`` comes to it."""
    for each in (*_lost(given), *_saved(given)):
        if given.argument("save_strategy") == "no":
            means = f"train() writes none; save_model(): {each.means}"
            yield replace(each, state="noted", means=means, bytes=0)
        else:
            yield each


def _lost(given: Given) -> Iterator[Seen]:
    """Read what `Trainer._save` cannot write, or writes in vain."""
    saving, what = given.saving, "checkpoints"
    if saving.way in LOST:
        keys = f", whose keys begin with {saving.prefix!r}" if saving.prefix else ""
        sees = f"a {type(saving.inner).__name__}{keys}"
        fix = "pass the model as it was before; the Trainer wraps it by itself"
        yield Seen("fails", what, sees, LOST[saving.way], fix=fix)
    elif saving.way == "state dict" and saving.shared:
        names = " = ".join(saving.shared[:2])
        sees = f"{given.kind} is no PreTrainedModel and has tied weights ({names})"
        means = "RuntimeError at the first checkpoint: its tensors share memory"
        fix = "derive your class from the model's, in place of holding it"
        yield Seen("fails", what, sees, means, fix=fix)


def _saved(given: Given) -> Iterator[Seen]:
    """Read what `Trainer._save` writes."""
    saving, what = given.saving, "checkpoints"
    if saving.way == "adapters":
        means = f"each holds the adapters alone, {size(saving.adapters)}"
        yield Seen("works", what, given.kind, means, saving.adapters)
    elif saving.way not in LOST and saving.adapters:
        where = saving.holder or "its layers"
        sees = f"{given.kind} is no PeftModel: the adapters at {where} are hidden"
        means = (
            f"each holds the whole model, {size(saving.whole)}, in place of the "
            f"adapters' {size(saving.adapters)}, and no adapter_config.json"
        )
        fix = "put your own parts on the base model, and get_peft_model around all"
        yield Seen("costs", what, sees, means, saving.whole - saving.adapters, fix)
    elif saving.way == "state dict":
        means = f"each is a state dict of {size(saving.whole)}, without config.json"
        yield Seen("noted", what, f"{given.kind} is no PreTrainedModel", means)
    elif saving.way == "whole":
        means = f"each holds the whole model, {size(saving.whole)}"
        yield Seen("works", what, given.kind, means, saving.whole)


def _devices(given: Given) -> Iterator[Seen]:
    """Read `Trainer.__init__` on ``hf_device_map``, and `_move_model_to_device`."""
    held, what = given.asked("hf_device_map"), "devices"
    sees = f"{given.kind} has no hf_device_map"
    if given.argument("place_model_on_device") is False:
        means = "it stays where it is"
        yield Seen("noted", what, "place_model_on_device=False", means)
    elif held is not None:
        there = {str(each) for each in held.values()}
        still = sorted(there & {"cpu", "disk"})
        means = "it stays where it is"
        if len(there) - len(still) > 1:
            means += "; one GPU computes at a time (is_model_parallel)"
        means += f"; what is on {' and '.join(still)} is never moved" * bool(still)
        yield Seen("noted", what, f"hf_device_map: {', '.join(sorted(there))}", means)
    elif any(each.is_meta for each in given.outer.parameters()):
        says = "NotImplementedError: what has no values here cannot be moved"
        yield Seen("fails", what, sees, says)
    elif given.mapped is not None:
        sees += f": that of {given.mapped} is hidden"
        fix = "give the wrapper the model's hf_device_map"
        means = "all of it is moved to one device"
        yield Seen("costs", what, sees, means, given.weights, fix)


def _several_gpus(given: Given) -> Iterator[Seen]:
    """Read `Trainer._wrap_model` where ``args.n_gpu`` is more than 1."""
    loaded = any(given.asked(f"is_loaded_in_{n}bit", False) for n in (4, 8))
    held = given.asked("hf_device_map") or {}
    if loaded or is_wrapper(given.outer) or len({str(e) for e in held.values()}) > 1:
        return
    here = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if given.args is not None and (here := given.argument("n_gpu")) < 2:
        return
    state: SeenState = "costs" if here > 1 else "noted"
    sees = f"nothing that forbids DataParallel; GPUs here: {here}"
    means = f"in each step, each further GPU gets a copy: {size(given.weights)}"
    fix = "torchrun, or CUDA_VISIBLE_DEVICES=0"
    yield Seen(state, "several GPUs", sees, means, given.weights, fix)


def _within_peft(model: Any) -> Any:
    if not is_peft(model):
        return model
    return getattr(model, "get_base_model", lambda: model.base_model.model)()


def _columns(given: Given) -> Iterator[Seen]:
    """Read `Trainer._set_signature_columns_if_needed` and `_remove_unused_columns`."""
    if given.argument("remove_unused_columns") is False:
        means = "all columns are handed to forward"
        yield Seen("works", "columns", "remove_unused_columns=False", means)
        return
    taken = inspect.signature(_within_peft(given.outer).forward).parameters.values()
    names = [each.name for each in taken if str(each)[0] != "*"]
    if names:
        sees = f"forward takes {', '.join(names[:4])}{', ...' * (len(names) > 4)}"
        means = "all other columns of the dataset are dropped"
        yield Seen("works", "columns", sees, means)
        return
    sees = f"forward names no argument ({', '.join(map(str, taken))})"
    means = "ValueError: no column of the dataset matches"
    if labels := given.argument("label_names"):
        means = f"all columns of the dataset but {', '.join(labels)} are dropped"
    fix = "name the arguments in forward, or set remove_unused_columns=False"
    yield Seen("fails", "columns", sees, means, fix=fix)


def _evaluation(given: Given) -> Iterator[Seen]:
    """Read `find_labels` and `can_return_loss`, which look at the class."""
    kind = type(_within_peft(given.outer))
    taken = inspect.signature(kind.forward).parameters
    spans = ("start_positions", "end_positions")
    asking = spans if "QuestionAnswering" in kind.__name__ else ()
    labels = [name for name in taken if "label" in name or name in asking]
    told = given.argument("label_names")
    labels = labels if told is None else told
    if labels or ("return_loss" in taken and taken["return_loss"].default is True):
        yield Seen("works", "evaluation", f"labels: {', '.join(labels) or 'none'}")
        return
    sees = f"forward of {kind.__name__} names no labels"
    sees = sees if told is None else "label_names=[]"
    state, means = _without_loss(given)
    fix = 'name labels in forward, or set label_names=["labels"]'
    yield Seen(state, "evaluation", sees, means, fix=fix)


def _without_loss(given: Given) -> tuple[SeenState, str]:
    """Say what comes of an evaluation that measures no loss."""
    means = "no eval_loss is measured"
    if given.args is None:
        return "costs", f"{means}; load_best_model_at_end by it raises KeyError"
    if given.argument("eval_strategy") == "no":
        return "noted", f"evaluate() is not called in training; in it {means}"
    if best := given.argument("metric_for_best_model"):
        return "fails", f"KeyError at the first evaluation: {means}, nor {best}"
    return "costs", means


def _accumulation(given: Given) -> Iterator[Seen]:
    """Read ``model_accepts_loss_kwargs``."""
    # torch.compile stays around the model where the loss is computed
    compiled = given.saving.prefix.startswith("_orig_mod")
    model = _within_peft(given.outer if compiled else given.saving.inner)
    accepts = getattr(model, "accepts_loss_kwargs", None)
    if accepts is None:
        kinds = [e.kind for e in inspect.signature(model.forward).parameters.values()]
        accepts = inspect.Parameter.VAR_KEYWORD in kinds
    what, users = "accumulation", own(model) and not pretrained(model)
    if not accepts and _one_batch(given):
        yield Seen("works", what, "gradient_accumulation_steps=1, one process")
    elif not accepts:
        sees = f"forward of {type(model).__name__} takes no **kwargs"
        means = "the loss is a mean of micro-batches' means: short answers count more"
        fix = "let forward take **kwargs and hand them on to the model"
        yield Seen("costs" if users else "noted", what, sees, means, fix=fix)
    elif users:
        sees = f"forward of {type(model).__name__} takes **kwargs"
        means = "it must hand on num_items_in_batch: nothing else divides the loss"
        yield Seen("noted", what, sees, means)
    else:
        yield Seen("works", what, "num_items_in_batch is handed on")


def _one_batch(given: Given) -> bool:
    """Say whether each step is of one batch, whose mean nothing is averaged with."""
    named = ("gradient_accumulation_steps", "world_size", "n_gpu")
    return given.args is not None and all(given.argument(each) < 2 for each in named)


def _methods(given: Given) -> Iterator[Seen]:
    """Read what is asked for by name."""
    for name, (argument, unset, fix) in NEEDED.items():
        if _has(given, name):
            continue
        sees, means = f"{given.kind} has no {name}", f"{argument} raises AttributeError"
        if given.args is None:
            yield Seen("noted", name, sees, means, fix=fix)
        elif (value := given.argument(argument, unset)) != unset:
            means = f"AttributeError by {argument}={value!r}"
            yield Seen("fails", name, sees, means, fix=fix)


def _has(given: Given, name: str) -> bool:
    if name == "get_input_embeddings":  # which is asked of what is within wrappers
        return given.asked(name) is not None or hasattr(given.saving.inner, name)
    options = sys.modules["transformers"].TrainingArguments
    renamed = "activation_checkpointing_enable"  # asked for first since 5.23
    if name == "gradient_checkpointing_enable" and hasattr(options, renamed[:-7]):
        return given.asked(renamed) is not None or given.asked(name) is not None
    return given.asked(name) is not None


def _idle(given: Given) -> Iterator[Seen]:
    """Read what becomes of a loss that depends on nothing that learns."""
    if given.idle is None:
        return
    quiet = given.idle.inputs or given.argument("gradient_checkpointing", False)
    means = "RuntimeError in the first backward: the loss does not require grad"
    if quiet:  # the embedding's output requires grad, and so does the loss
        means = "no weight changes, and no error says so"
    yield Seen("fails", "training", given.idle.sees, means, fix=given.idle.fix)


def _training(given: Given) -> Iterator[Seen]:
    """Predict gradients and the optimizer's state."""
    learns, (name, strange) = given.learns, given.strange
    moments = given.moments
    held = "not predicted" if moments.bytes is None else size(moments.bytes)
    words = f"gradients {size(learns)}, {moments.name} {held}"
    known = learns + (moments.bytes or 0)
    yield Seen("noted", "training", "requires_grad alone", words, known)
    if strange:
        # a head that learns is small beside adapters; a base that does is not
        state: SeenState = "costs" if 2 * strange > learns else "noted"
        more = strange + (moments.bytes or 0) * strange // learns
        means = f"with gradients and {moments.name} they take {size(more)} more"
        sees = f"{size(strange)} of what learns is no adapter's, first {name}"
        fix = "requires_grad_(False) on the base, if the adapters alone are to learn"
        yield Seen(state, "training", sees, means, more, fix)


READERS = (
    *(_idle, _few_bits, _checkpoints, _devices, _several_gpus, _columns),
    *(_evaluation, _accumulation, _methods, _training),
)
