"""What a checkpoint lacks for going on exactly as without it.

Of a folder that a Trainer has written the names of its files tell, and
``trainer_state.json``; pickles are not opened. One of `ftlab.safe_save` says it itself.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ftlab.records.marked import Marked
from ftlab.records.plain_files import open_file
from ftlab.replay.checkpoints.writing import STATE

WEIGHTS = ("model*.safetensors", "adapter_model.safetensors", "*/adapter_model.*")
TRAINER_STATE, ARGUMENTS = "trainer_state.json", "training_args.json"
_PICKLES = ("pytorch_model*.bin", "adapter_model.bin")
_SHARDS = ("global_step*", "pytorch_model_fsdp*", "optimizer_*")
_ADAM = "without them Adam's first steps move every weight by the whole rate"
_FILES = (
    ("optimizer", ("optimizer.pt", "optimizer.bin"), _ADAM),
    ("schedule", ("scheduler.pt",), "the warm-up begins again"),
    ("generators", ("rng_state*.pth",), "dropout and shuffling are others"),
)
_TOKENIZER = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.*")


def lacking(folder: Path, manifest: Mapping[str, Any] | None) -> tuple[Marked, ...]:
    """List what an exact resume needs, and whether it is in ``folder``.

    Parameters
    ----------
    manifest
        That of `ftlab.safe_save`; ``None`` for a folder that something else has
        written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ftlab.replay.checkpoints.lacking import lacking
    >>> found = lacking(Path(tempfile.mkdtemp()), None)
    >>> [each.name for each in found if each.state == "lacks"][:3]
    ['weights', 'optimizer', 'schedule']
    """
    state = _json(folder / TRAINER_STATE)
    parts = _by_files(folder) if manifest is None else _by_manifest(manifest)
    return (
        _weights(folder, manifest),
        *parts,
        _position(state, manifest),
        _order(manifest),
        *_logged(state),
        _tokenizer(folder),
        _arguments(folder, manifest),
    )


def _first(folder: Path, patterns: tuple[str, ...]) -> str:
    found = (each for pattern in patterns for each in sorted(folder.glob(pattern)))
    return next((each.relative_to(folder).as_posix() for each in found), "")


def _json(file: Path) -> dict[str, Any]:
    try:
        with open_file(file) as opened:
            found = json.loads(opened.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _told(name: str, there: str, lacks: str) -> Marked:
    return Marked(name, "there", there) if there else Marked(name, "lacks", lacks)


def _weights(folder: Path, manifest: Mapping[str, Any] | None) -> Marked:
    shards = _first(folder, _SHARDS)
    if shards and manifest is None:
        says = f"{shards} has shards, which only who wrote them can read"
        return Marked("weights", "cannot tell", says)
    index = _json(folder / "model.safetensors.index.json").get("weight_map", {})
    missing = sorted({f for f in index.values() if not (folder / str(f)).is_file()})
    if missing:
        return Marked("weights", "lacks", f"the index names {missing[0]}, not there")
    own = STATE if manifest is not None else ""
    found = _first(folder, WEIGHTS) or own or _first(folder, _PICKLES)
    if found.endswith(".bin"):
        found += ", a pickle"
    adapter = found.rpartition("/")[2].startswith("adapter_model")
    if adapter and not _first(folder, ("adapter_config.json", "*/adapter_config.json")):
        return Marked("weights", "lacks", f"{found} has no adapter_config.json beside")
    return _told("weights", found, "no file of weights")


def _by_files(folder: Path) -> Iterator[Marked]:
    for name, patterns, lacks in _FILES:
        file = _first(folder, patterns)
        yield _told(name, file, f"no {patterns[0]}: {lacks}")
    scaler = _first(folder, ("scaler.pt",))
    yield Marked("scaler", *(("there", scaler) if scaler else _UNKNOWN_SCALER))


_UNKNOWN_SCALER = "cannot tell", "no scaler.pt, which only fp16 needs"


def _by_manifest(manifest: Mapping[str, Any]) -> Iterator[Marked]:
    for name, section, lacks in (
        ("optimizer", "optimizers", _ADAM),
        ("schedule", "schedulers", "if there is one, its warm-up begins again"),
    ):
        kinds = ", ".join(each["class"] for each in manifest[section])
        yield _told(name, kinds, f"none was handed over: {lacks}")
    ranks = manifest["ranks"]
    if ranks > 1:
        yield Marked("generators", "lacks", f"those of ranks 1 to {ranks - 1}")
    else:
        devices = len(manifest["rng"]["devices"])
        yield Marked("generators", "there", f"Python, NumPy, CPU, {devices} devices")
    scaled = bool(manifest["scaler"])
    says = "GradScaler" if scaled else "no loss is scaled"
    yield Marked("scaler", "there" if scaled else "not needed", says)


def _position(state: Mapping[str, Any], manifest: Mapping[str, Any] | None) -> Marked:
    step, epoch = state.get("global_step"), state.get("epoch")
    there = "" if step is None else f"step {step}, epoch {float(epoch or 0):.4g}"
    if not there and manifest is not None:
        told = [str(each["class"]) for each in manifest["loader"]]
        told += [f"{k}={v}" for k, v in manifest["extra"].get("of", {}).items()]
        there = ", ".join(told)
    lacks = "where in the data to go on: pass extra={'epoch': ..., 'batch': ...}"
    return _told("position", there, lacks)


def _order(manifest: Mapping[str, Any] | None) -> Marked:
    """Tell of the generators of the loader's workers, which nobody can read."""
    name = "workers' draws"
    if manifest is None or manifest["workers"] is None:
        says = "whether workers draw random numbers; they begin anew at each epoch"
        return Marked(name, "cannot tell", says)
    if not manifest["workers"]:
        return Marked(name, "not needed", "samples are made in the main process")
    says = "what they draw is drawn anew: seed it by the sample's index"
    return Marked(name, "lacks", f"{manifest['workers']} workers, and {says}")


def _logged(state: Mapping[str, Any]) -> Iterator[Marked]:
    """Tell of the loss that was summed up since the Trainer's last log."""
    step = state.get("global_step")
    logs = [each for each in state.get("log_history", ()) if "loss" in each]
    last = logs[-1].get("step") if logs else 0
    if isinstance(step, int) and isinstance(last, int) and last < step:
        says = f"of steps {last + 1} to {step}: the next loss that is logged is off"
        yield Marked("logged loss", "lacks", says)


def _tokenizer(folder: Path) -> Marked:
    file = _first(folder, _TOKENIZER)
    return _told("tokenizer", file, "no tokenizer: it must come from elsewhere")


def _arguments(folder: Path, manifest: Mapping[str, Any] | None) -> Marked:
    file = _first(folder, (ARGUMENTS, "training_args.bin"))
    if not file and manifest is not None:
        return Marked("arguments", "cannot tell", "a loop's settings are in its code")
    return _told("arguments", file, "rates and sizes must be passed as they were")
