"""Why an adapter is frozen as a whole, as its configuration and its values tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from ftlab.records.finding import Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.adapter_states import KEY, states_of, wait_for_thawing
from ftlab.rules.reading.wiring import Described, count_of, names_of, wiring
from ftlab.runlog.run import Run

Found = Sequence[tuple[str, Described, Described]]
"""Name, description and configuration of adapters."""


@dataclass(frozen=True, slots=True)
class Why:
    """What froze an adapter.

    Attributes
    ----------
    kind
        A reason of ADP010.
    before, after
        Places that come before and after those of the parameters.
    """

    kind: str
    cause: str
    fix: str
    before: tuple[Place, ...] = ()
    after: tuple[Place, ...] = ()


def why_frozen(run: Run, found: Found) -> Why:
    """Say what froze all of these adapters."""
    if any(config.get("inference_mode") is True for _, _, config in found):
        return _loaded(run) if is_loaded(found) else _made_for_use()
    name = found[0][0]
    frozen = (
        "All its tensors have requires_grad=False, unlike its configuration: they were "
        "frozen after get_peft_model"
    )
    again = f"model.set_adapter({name!r}) makes it trainable again."
    if run.facts.model.get("quantized"):
        return Why(
            "frozen-afterwards",
            f"{frozen}. prepare_model_for_kbit_training does this, and so do trainers "
            "that prepare a PeftModel again.",
            f"Call prepare_model_for_kbit_training before get_peft_model; {again}",
            after=(Place("call", "prepare_model_for_kbit_training"),),
        )
    return Why(
        "frozen-afterwards",
        f"{frozen}, by requires_grad_(False) on the model or a loop over its "
        "parameters.",
        "Freeze nothing after get_peft_model, which already froze the base, or skip "
        f"names with 'lora_'; {again}",
        after=(Place("call", "requires_grad_"),),
    )


def severity_of(run: Run, found: Found, kind: str) -> Severity:
    """Tell how sure it is that a frozen adapter is not what was meant.

    Training a head over an adapter that was loaded for use may be: it is a note.
    So it is where the optimizer holds what is frozen now: it waits for its turn. And
    where no B of what was frozen by hand is 0, as of one that has been trained.
    It is a warning where the adapter's own copy of a head learns without it, and where
    the model that was loaded into trains itself, in training mode, through the adapter:
    a model that carries the adapter itself, or parts of the base that no task adds.
    """
    if not run.facts.model.get("trainable"):
        return Severity.ERROR
    by_hand = kind == "frozen-afterwards"
    if by_hand and (wait_for_thawing(run, _pairs(found)) or _adds_something(found)):
        return Severity.INFO
    if kind != "loaded-frozen" or kept_learn(found):
        return Severity.WARNING
    itself = without_wrapper(run) or _base_learns(run)
    through = itself and _is_trained_through(run, {n for n, _, _ in found})
    return Severity.WARNING if through else Severity.INFO


def _pairs(found: Found) -> list[str]:
    """Name what is frozen of the adapters, but for the modules that they keep."""
    parts = (
        part
        for _, described, _ in found
        for name, part in described["parts"].items()
        if name != "modules_to_save"
    )
    return [name for part in parts for name in names_of(part.get("frozen"))]


def _adds_something(found: Found) -> bool:
    """Tell whether there are frozen factors B, and none of them is 0."""
    parts = [described["parts"].get("lora_B") or {} for _, described, _ in found]
    frozen = any(names_of(part.get("frozen")) for part in parts)
    return frozen and not any(names_of(part.get("frozen_zero")) for part in parts)


def kept_learn(found: Found) -> bool:
    """Tell whether copies in modules_to_save learn while the rest is frozen."""
    parts = [
        described["parts"].get("modules_to_save") or {} for _, described, _ in found
    ]
    return any(part.get("trainable") for part in parts)


def without_wrapper(run: Run) -> bool:
    """Tell whether the model carries the adapter itself: there is no PeftModel."""
    chain = wiring(run).get("chain") or ()
    return bool(chain) and not any(str(h["class"]).startswith("Peft") for h in chain)


def _base_learns(run: Run) -> bool:
    """Tell whether weights within a PeftModel learn that are no head of a new task.

    They stand in a numbered block, or have a row for each token: a head for classes has
    fewer rows than columns.
    """
    for record in run.names().values():
        if "base_model.model." not in record.name or ".lora_" in record.name:
            continue
        rows, columns = record.shape if len(record.shape) == 2 else (0, 1)
        if rows > columns or any(part.isdigit() for part in record.name.split(".")):
            return True
    return False


def is_loaded(found: Found) -> bool:
    """Tell whether a B is not 0, which fresh adapters have not."""
    parts = [described["parts"].get("lora_B") or {} for _, described, _ in found]
    return any(count_of(p.get("frozen_zero")) < int(p["tensors"]) for p in parts if p)


def is_meant_to_learn(run: Run, found: Found) -> bool:
    """Tell a fresh adapter in training mode: loading leaves evaluation mode behind."""
    modes = run.facts.model.get("training_modes") or {}
    pairs = any("lora_B" in described["parts"] for _, described, _ in found)
    return bool(modes.get("training")) and pairs and not is_loaded(found)


def left_off(run: Run, adapter: str, part: str) -> list[str]:
    """List the modules that have the adapter's copy and run another one."""
    idle = wiring(run).get("idle_copies") or {}
    return names_of(idle.get(adapter)) if part == "modules_to_save" else []


def why_part_frozen(
    run: Run, adapter: str, field: str, off: Sequence[str]
) -> tuple[str, str]:
    """Return cause and fix of a part that is frozen beside pairs that learn."""
    if not off:
        return (
            f"{field} makes parameters trainable besides the pairs, but something "
            "froze them after get_peft_model (a loop that keeps only 'lora_A' and "
            "'lora_B', or 'lora_').",
            "Do not change requires_grad after get_peft_model, or freeze only what is "
            "neither 'lora_' nor 'modules_to_save'.",
        )
    heard = any(entry.op == "delete_adapter" for entry in run.ledger)
    begin = (
        "delete_adapter removed the active adapter"
        if heard
        else "As after delete_adapter of the adapter that was active"
    )
    return (
        f"{begin}: PEFT activated {adapter} in its pairs, but not {in_words(off)}, of "
        "which the deleted adapter had no copy. The base model's own module runs "
        "instead.",
        f"model.set_adapter({adapter!r}) after delete_adapter, before the optimizer is "
        "built: it activates the copies as well.",
    )


def _loaded(run: Run) -> Why:
    config = Place("config", "inference_mode")
    if without_wrapper(run):
        return Why(
            "loaded-frozen",
            "The adapter was loaded for inference: transformers' load_adapter freezes "
            "it, but not its copies in modules_to_save, unless told otherwise.",
            "model.load_adapter(folder, is_trainable=True), then build the optimizer.",
            (Place("call", "load_adapter"), config),
        )
    return Why(
        "loaded-frozen",
        "The adapter was loaded for inference: from_pretrained freezes what it loads "
        "unless told otherwise.",
        "PeftModel.from_pretrained(base, folder, is_trainable=True).",
        (Place("call", "from_pretrained"), config),
    )


def _made_for_use() -> Why:
    return Why(
        "inference-mode",
        "The adapter was created from a configuration with inference_mode=True, as "
        "saved adapters have, and is therefore frozen.",
        "Set config.inference_mode = False before get_peft_model, or pass "
        "is_trainable=True to PeftModel.from_pretrained.",
        (Place("config", "inference_mode"),),
        (Place("call", "get_peft_model"),),
    )


def _is_trained_through(run: Run, names: set[str]) -> bool:
    """Tell whether a pass in training mode, with a graph, ran one of the adapters."""
    states = states_of(run)
    passes = (
        states.get(int(entry.detail.get(KEY, -1)))
        for entry in run.ledger
        if entry.op == "forward"
        and entry.detail.get("mode") == "train"
        and entry.detail.get("grad_enabled")
    )
    return any(
        len(state.disabled) < state.layers and names & state.active
        for state in passes
        if state is not None
    )
