"""Layer *model*: something is trainable, forward works, the first loss is plausible."""

import math
from typing import Any

import torch

from ftlab.probes.naming import named_parameters
from ftlab.records.attributes import attribute_of
from ftlab.records.finding import Severity
from ftlab.session.preflight.data_checks import vocabulary
from ftlab.session.preflight.failing import NoLossError
from ftlab.session.preflight.forward_failures import raised, under_autocast
from ftlab.session.preflight.saying import Check, Fault, Items
from ftlab.session.preflight.seen import Seen

GUESSING = 1.5
"""A first loss above so many times ln(vocabulary) is worse than guessing.

Guessing blindly gives 1.0; the gallery's random Llama, GPT-2, GPT-NeoX and own model
start at 1.00 to 1.04. How far above that is ill was set by judgement.
"""

FROZEN = "ADP010"
"""The rule that tells which adapter is frozen, and by what."""

_TRAINABLE = Check("model", "something is trainable")
_FORWARD = Check("model", "forward works")
_LOSS = Check("model", "first loss against guessing")


def model_checks(seen: Seen) -> Items:
    """Yield the items of the layer."""
    if FROZEN not in seen.codes:
        yield _trainable(seen)
    yield from _forward(seen)
    yield from _first_loss(seen)


def _trainable(seen: Seen) -> Any:
    entries = named_parameters(seen.model)
    trained = [entry for entry in entries if entry.parameter.requires_grad]
    facts = seen.facts.model
    counts = {
        "tensors": len(trained),
        "of_tensors": len(entries),
        "trainable_parameters": int(facts.get("trainable", 0)),
        "parameters": int(facts.get("parameters", 0)),
    }
    total = max(counts["parameters"], 1)
    if trained:
        return _TRAINABLE.passed(
            f"{len(trained)} of {len(entries)} tensors, "
            f"{counts['trainable_parameters']:,} of {counts['parameters']:,} "
            f"parameters ({100 * counts['trainable_parameters'] / total:.2g} %)"
        )
    given = seen.given
    if given.trainer is None and given.step is None and not given.optimizers:
        return _TRAINABLE.not_checked(
            "nothing is trainable, and no optimizer was passed: fine for inference "
            "only",
            "for a model to be trained, preflight(..., optimizer=optimizer)",
        )
    return _TRAINABLE.failed(
        Fault(
            f"none of the {len(entries)} parameters requires a gradient, so nothing "
            "can be trained",
            cause="The adapter was loaded for inference, its configuration says "
            "inference_mode, or everything was frozen after it was added.",
            fix="A saved adapter: PeftModel.from_pretrained(base, path, "
            "is_trainable=True); a new one: get_peft_model(base, config), after all "
            "freezing.",
            places=[("object", type(seen.model).__name__)],
        ),
        **counts,
    )


def _forward(seen: Seen) -> Items:
    dry, failure = seen.dry, seen.dry.failure
    if dry.why_not or not seen.batches:
        why = dry.why_not or "there is no batch to try it on"
        yield _FORWARD.not_checked(why, "pass a batch: batch= or batches=")
    elif seen.eased is not None:
        yield under_autocast(seen, seen.eased)
    elif failure is not None and isinstance(failure.error, NoLossError):
        yield _FORWARD.not_checked(str(failure.error), "pass step=, your loop's body")
    elif failure is None or failure.phase not in ("forward", "step"):
        yield _FORWARD.passed("the model accepted the first batch")
    else:
        yield raised(seen, failure)


def _first_loss(seen: Seen) -> Items:
    rows, batch = vocabulary(seen.model), seen.batch
    ids, labels = batch.get("input_ids"), batch.get("labels")
    if not (rows > 1 and seen.dry.losses) or ids is None or labels is None:
        return
    if labels.shape != ids.shape or seen.given.step is not None:
        return  # not the loss of predicting tokens, or one of the user's own making
    loss, blind = seen.dry.losses[0], math.log(rows)
    if not math.isfinite(loss):
        return  # the layer numerics tells
    says = f"first loss {loss:.3g}; guessing blindly among {rows} tokens gives "
    if loss <= GUESSING * blind:
        yield _LOSS.passed(f"{says}{blind:.3g}")
        return
    # Of a model that was not loaded from anywhere it is the loss of its start: an
    # output head that is drawn at a scale of 1, as T5's own one is, gives such a loss.
    say = _LOSS.failed if _is_loaded(seen.model) else _LOSS.noted
    yield say(
        Fault(
            f"{says}{blind:.3g}: the model is worse than that",
            cause="Labels and inputs do not belong together (shifted twice, a "
            "different tokenizer, resized embedding), weights were loaded wrongly, or "
            "the loss is summed over tokens or micro-batches instead of averaged.",
            fix="Look at one row: ftlab.tokens(batch=batch, tokenizer=tokenizer); pass "
            "labels unshifted, since the model shifts them itself.",
            places=[("data", "labels")],
            severity=Severity.WARNING,
        ),
        loss=loss,
        ln_vocabulary=blind,
        threshold=GUESSING * blind,
    )


def _is_loaded(model: torch.nn.Module) -> bool:
    """Tell whether a configuration in the model says where it was loaded from."""
    configs = (attribute_of(module, "config") for module in model.modules())
    return any(getattr(config, "_name_or_path", "") for config in configs)
