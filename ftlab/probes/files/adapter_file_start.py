"""What an adapter's file leaves out because it is drawn or computed when one is made.

VeRA's projections come from a generator and its key, FourierFT's places from a seed;
PiSSA takes a part of each base weight away. The file holds what was trained on them.
"""

from collections.abc import Mapping
from typing import Any

DRAWN = {
    "VERA": "projection_prng_key",
    "PVERA": "projection_prng_key",
    "RANDLORA": "projection_prng_key",
    "FROD": "projection_prng_key",
    "TINYLORA": "projection_seed",
    "UNILORA": "proj_seed",
    "FOURIERFT": "random_loc_seed",
    "WAVEFT": "random_loc_seed",
}
"""By method the setting that its frozen part is drawn from."""

COMPUTED = ("pissa", "olora", "corda", "lora_ga")
"""Ways to begin that take from the base what they give to the adapter."""


def start_off(saved: Mapping[str, Any], config: Any) -> dict[str, list[Any]]:
    """Return settings of the start that differ: the file's and the model's.

    Parameters
    ----------
    saved
        What ``adapter_config.json`` holds.
    config
        PEFT's configuration of the adapter in the model.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.files.adapter_file_start import start_off
    >>> saved = {"peft_type": "LORA", "init_lora_weights": "pissa"}
    >>> start_off(saved, SimpleNamespace(peft_type="LORA", init_lora_weights=True))
    {'init_lora_weights': ['pissa', True]}
    """
    kind = str(saved.get("peft_type", ""))
    live = getattr(config, "peft_type", "")
    if kind != str(getattr(live, "value", live)):
        return {}
    name = DRAWN.get(kind, "")
    drawn = name in saved and not saved.get("save_projection")
    if drawn and saved[name] != getattr(config, name, saved[name]):
        return {name: [saved[name], getattr(config, name)]}
    begun = saved.get("init_lora_weights")
    now = getattr(config, "init_lora_weights", begun)
    if kind == "LORA" and _is_computed(begun) and not _is_computed(now):
        return {"init_lora_weights": [begun, now]}
    return {}


def _is_computed(start: Any) -> bool:
    return isinstance(start, str) and start.startswith(COMPUTED)
