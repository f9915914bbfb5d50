"""What a checkpoint lacks for going on exactly, by the names of its files.

Pickles are not opened. What `ftlab.safe_save` has written has a manifest that tells.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ftlab.records.outcome import Outcome, State
from ftlab.records.plain_files import open_file
from ftlab.replay.checkpoints.folder import STATE

TRAINER_STATE, ARGUMENTS = "trainer_state.json", "training_args.json"
WEIGHTS = (
    *("model*.safetensors", "adapter_model.safetensors", "*/adapter_model.safetensors"),
    *("pytorch_model*.bin", "adapter_model.bin", STATE),
)
_FILES = (
    ("weights", "", WEIGHTS, "there is no file of weights"),
    ("optimizer", "optimizers", ("optimizer.pt",), "Adam's moments begin at 0"),
    ("schedule", "schedulers", ("scheduler.pt",), "the warm-up begins again"),
    ("generators", "rng", ("rng_state*.pth",), "dropout and shuffling are others"),
    ("tokenizer", "", ("tokenizer*", "vocab.*"), "there is none"),
    ("arguments", "", (ARGUMENTS, "training_args.bin"), "rates and sizes are not kept"),
)
"""Part, section of a manifest, files that hold it, and what comes of it without."""


def lacking(folder: Path, manifest: Mapping[str, Any] | None) -> tuple[Outcome, ...]:
    """Go through what an exact resume needs; ``manifest`` is ``None`` of others."""
    told, found = manifest or {}, []
    for name, section, patterns, lacks in _FILES:
        files = (file.name for p in patterns for file in sorted(folder.glob(p)))
        there = STATE if told.get(section) else next(files, "")
        found.append(_part(name, there, lacks))
    if found[0].says.startswith("adapter_model"):
        file = next(folder.rglob("adapter_config.json"), None)
        found.append(_part("adapter's settings", file.name if file else "", "none"))
    if (folder / "scaler.pt").exists() or told.get("scaler"):
        found.append(_part("scaler", "its scale is kept", ""))
    elif manifest is None:
        found.append(_unknown("scaler", "no scaler.pt, which only fp16 needs"))
    if pending := told.get("gradients"):
        lacks = f"of micro-batches so far, in {pending} parameters: save after the step"
        found.append(_part("gradients", "", lacks))
    found += _position(folder, told)
    workers, name = told.get("workers"), "workers' draws"
    if workers is None:
        found.append(_unknown(name, "what a loader's workers draw begins anew"))
    else:
        lacks = f"what {workers} workers draw begins anew: seed it by the sample"
        found.append(_part(name, "" if workers else "there are no workers", lacks))
    return tuple(found)


def _part(name: str, there: str, lacks: str) -> Outcome:
    state: State = "holds" if there else "broken"
    return Outcome("", name, "is kept", state, there or lacks)


def _unknown(name: str, says: str) -> Outcome:
    return Outcome("", name, "is kept", "cannot be decided", says)


def _position(folder: Path, told: Mapping[str, Any]) -> Iterator[Outcome]:
    """Look where in the data it was, and at the loss since the Trainer's last log."""
    try:
        with open_file(folder / TRAINER_STATE) as opened:
            state = json.loads(opened.read())
        step, logs = int(state["global_step"]), state["log_history"]
        logged = max((int(e["step"]) for e in logs if "loss" in e), default=0)
    except (OSError, ValueError, LookupError, TypeError):
        extra = told.get("extra", {}).get("of", {})
        there = ", ".join(f"{name}={value}" for name, value in extra.items())
        lacks = f"no {TRAINER_STATE} tells the step"
        lacks = "pass extra={'epoch': 2, 'batch': 40}" if told else lacks
        yield _part("position", there, lacks)
        return
    yield _part("position", f"step {step}", "")
    if logged < step:
        says = f"of steps {logged + 1} to {step}: the next one that is logged is off"
        yield _part("logged loss", "", says)
