"""RTP002, saved-files: what the files hold is what was trained.

## What must hold
The folder, loaded as anybody would load it (an adapter onto a fresh base), has the
weights of the live model, its logits, its answers, and stops where it does.

## Why
Rows of new tokens, a head that was trained beside the adapter, a scale or a magnitude
that is not in the files: the run was right, and what is deployed is not its result.

## When it does not apply
Models without ``save_pretrained``, and adapters whose start changes the base where the
base as it was is not at hand.

## What to try
``modules_to_save=[...]`` for what is trained beside the adapter,
``save_embedding_layers=True`` after new tokens, and the folder of the very base.

## References
- peft, "Checkpoint format"
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ftlab.executions.side import NotApplicableError
from ftlab.executions.stations import adapters_from, loaded_again, whole_from
from ftlab.experiments.deployment.rounded import rounded
from ftlab.experiments.deployment.station import Station
from ftlab.experiments.deployment.trip import Trip
from ftlab.experiments.deployment.weights import Reason
from ftlab.records.outcome import Outcome


class SavedFiles(Station):
    """The live model, and what its files hold."""

    code = "RTP002"
    name = "saved-files"
    relation = "loaded from its files onto a fresh base, the model is the same"
    cause = "Something that was trained, or set, is not in the files."
    fix = (
        "List what is trained beside the adapter in modules_to_save, save resized "
        "embeddings (save_embedding_layers=True), and load onto the base of training."
    )

    def run(self, trip: Trip) -> Outcome:
        """Save, if nobody has, and load."""
        if not hasattr(trip.model, "save_pretrained"):
            msg = f"{type(trip.model).__name__} has no save_pretrained()"
            raise NotApplicableError(msg)
        try:
            again = arrived(trip)
        except NotApplicableError:
            raise
        except LiesBelowError as error:
            return self.cannot_be_loaded(error, fix=_BELOW)
        except Exception as error:
            if trip.saved is None:  # what was saved here says nothing of a deployment
                raise
            return self.cannot_be_loaded(error)
        whole = hasattr(trip.model, "peft_config") and not hasattr(again, "peft_config")
        if whole and trip.live.few_bits():
            return rounded(self, trip, again)
        files = _in_files(trip, again)
        return self.against(trip, again, rewritten=whole, files=files)


class LiesBelowError(Exception):
    """The folder holds no model, and one below it holds an adapter."""


_BELOW = (
    "Load the folder below, or save with the adapter's name as loaders expect: "
    "model.save_pretrained(folder) of an adapter named default has no folder below."
)


def arrived(trip: Trip) -> Any:
    """Load the saved folder as a stranger would."""
    if trip.saved is None and trip.base is None:
        return loaded_again(trip.model, str(trip.room / "saved"))
    folder = trip.saved
    if folder is None:
        folder = trip.room / "saved"
        trip.model.save_pretrained(folder)
    if (folder / "adapter_config.json").is_file():
        name = getattr(trip.model, "active_adapter", "default")
        folders = {name if isinstance(name, str) else name[0]: folder}
        return adapters_from(folders, trip.model, trip.base)
    if (folder / "config.json").is_file():
        return whole_from(folder, trip.model)
    inner = sorted(each.parent for each in folder.glob("*/adapter_config.json"))
    msg = f"{folder.name} holds neither config.json nor adapter_config.json"
    if inner:
        msg += f"; an adapter lies below it, in {inner[0].name}"
        raise LiesBelowError(msg)
    raise FileNotFoundError(msg)


def _in_files(trip: Trip, again: Any) -> Reason | None:
    """Say which names an adapter's file has in vain, or lacks."""
    names = set(_names(trip.saved)) if trip.saved is not None else set()
    if not names or not hasattr(again, "peft_config"):
        return None
    from peft import get_peft_model_state_dict

    known = set(get_peft_model_state_dict(again))
    left, lacking = sorted(names - known), sorted(known - names)
    if left:
        return Reason(
            f"the file's {left[0]}{_more(left)} fit nothing in the model",
            "The files have other names than a loader looks for, as those of an "
            "adapter within an adapter.",
            "Merge or unload the first adapter before another is put on, and save with "
            "save_pretrained() of the model that was trained.",
        )
    if lacking:
        return Reason(f"the file has no {lacking[0]}{_more(lacking)}")
    return None


def _more(names: list[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""


def _names(folder: Path) -> Iterator[str]:
    """Yield the names in the header of an adapter's safetensors."""
    file = folder / "adapter_model.safetensors"
    if not file.is_file():
        return
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        yield from (n for n in json.loads(opened.read(length)) if n != "__metadata__")
