"""Weights of a deployed model that are not those of the live one, and how so."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch

from ftlab.executions.listening import shared_name
from ftlab.executions.stations import innermost

LEVELS, BLOCK = 16, 64
"""Values that 4 bits tell apart, and how many weights share a scale at most (bnb)."""


class Reason(NamedTuple):
    """How a weight is another, what it comes from, and what to do.

    Attributes
    ----------
    words
        What it is instead: ``"is 0 there"``.
    cause, fix
        Empty where those of the station say it.
    """

    words: str
    cause: str = ""
    fix: str = ""


class Weight(NamedTuple):
    """A weight that is another.

    Attributes
    ----------
    name
        Without what PEFT and wrappers put into it.
    how
        What it is instead, and why.
    fits
        Whether the two models can be executed on the same batch for all that.
    """

    name: str
    how: Reason
    fits: bool = True


def differing(live: Any, again: Any) -> list[Weight]:
    """List the weights that are not the same, in order of the live model.

    Those of a layer whose adapter has gone into it are left out.
    """
    there = {name: each.weight for name, each in named_weights(again).items()}
    merged = _adapted(live) - _adapted(again)
    found = []
    for name, (mine, owner) in named_weights(live).items():
        theirs = there.get(name)
        if owner in merged or not mine.is_floating_point():
            continue
        if theirs is None or not same(mine, theirs):
            reason = how(name, mine, theirs, live, again)
            found.append(Weight(name, reason, _fits(mine, theirs)))
    return found


class Owned(NamedTuple):
    """A weight, and the path of the layer that it serves."""

    weight: torch.Tensor
    owner: str


def named_weights(model: Any) -> dict[str, Owned]:
    """Return a model's parameters by the name that they have in every wrapping."""
    kinds = {
        kind
        for module in model.modules()
        for kind in (
            *(getattr(module, "adapter_layer_names", None) or ()),
            *(getattr(module, "other_param_names", None) or ()),
            "modules_to_save",
        )
    }
    active = getattr(model, "active_adapters", None) or ()
    active = set(active if isinstance(active, list | tuple) else ())
    found: dict[str, Owned] = {}
    for name, weight in model.named_parameters(remove_duplicate=False):
        parts = shared_name(name).split(".")
        kind = next((at for at, part in enumerate(parts) if part in kinds), -1)
        if "original_module" in parts:
            continue
        if 0 <= kind < len(parts) - 1 and parts[kind] != "base_layer":
            if parts[kind + 1] not in active:
                continue
            del parts[kind + 1]
        owner = parts[:kind] if kind >= 0 else parts[:-1]
        kept = [part for part in parts if part not in ("base_layer", "modules_to_save")]
        owner = [part for part in owner if part != "base_layer"]
        found[".".join(kept)] = Owned(weight.detach(), ".".join(owner))
    return found


def _adapted(model: Any) -> set[str]:
    """Name the layers whose own weights an adapter is added to."""
    return {
        shared_name(name)
        for name, module in model.named_modules()
        if hasattr(module, "base_layer") and hasattr(module, "merge")
    }


def _fits(mine: torch.Tensor, theirs: torch.Tensor | None) -> bool:
    return theirs is None or mine.shape == theirs.shape


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Say whether two weights hold the same values, NaN being one."""
    if a is b:
        return True
    if a.shape != b.shape:
        return False
    a, b = a.cpu(), b.cpu()
    return bool(((a == b) | ((a != a) & (b != b))).all())


class _Pair(NamedTuple):
    """A weight of both models."""

    name: str
    mine: torch.Tensor
    theirs: torch.Tensor
    live: Any
    again: Any

    def owners(self) -> Iterator[Any]:
        """Yield the live modules that the weight belongs to."""
        for path, module in self.live.named_modules():
            if shared_name(path) == self.name.rpartition(".")[0]:
                yield module


def how(
    name: str,
    mine: torch.Tensor,
    theirs: torch.Tensor | None,
    live: Any,
    again: Any,
) -> Reason:
    """Say what a weight is instead."""
    if theirs is None:
        return Reason("is not there")
    if mine.shape != theirs.shape:
        words = f"has the shape {tuple(theirs.shape)} there, not {tuple(mine.shape)}"
        return Reason(words, *_ROWS)
    pair = _Pair(name, mine, theirs, live, again)
    for explained in (_cast, _as_before, _tied, _merged, _rows, _few_bits, _times):
        reason = explained(pair)
        if reason is not None:
            return reason
    apart = float((mine.float() - theirs.float()).norm() / mine.float().norm())
    words = f"has other values (apart by {apart:.2g} of its norm)"
    adapted = hasattr(live, "peft_config") and not any(
        hasattr(owner, "original_module") for owner in pair.owners()
    )
    of_base = adapted and "lora_" not in name
    return Reason(words, *(_BASE if of_base else ()))


_ROWS = (
    "The rows of new tokens are not in the files, or the base has another vocabulary.",
    "Save with save_embedding_layers=True, or train with trainable_token_indices.",
)
_BASE = (
    "The base there is not the base of training: another model, or another revision.",
    "Load the adapter onto the base that training loaded, at the same revision.",
)
_ROUNDED = (
    "The adapter was merged into weights of 4 bits, or they were rounded later.",
    "Load the base in 16 bits, and merge into that.",
)


def _cast(pair: _Pair) -> Reason | None:
    for narrow in (torch.bfloat16, torch.float16):
        if pair.mine.dtype.itemsize > narrow.itemsize and same(
            pair.mine.to(narrow).to(pair.mine.dtype), pair.theirs.to(pair.mine.dtype)
        ):
            return Reason(
                f"was cast to {str(narrow).removeprefix('torch.')}",
                "Saving or loading rounded the weights to fewer bits than they had.",
                "Save in the precision of training; the table tells what the cast "
                "moves, where fewer bits are meant.",
            )
    return None


def _as_before(pair: _Pair) -> Reason | None:
    if not pair.theirs.any() and pair.mine.any():
        return Reason("is 0 there, as before training: nothing was loaded into it")
    for module in pair.owners():
        original = getattr(module, "original_module", None)
        was = dict(original.named_parameters()) if original is not None else {}
        weight = was.get(pair.name.rpartition(".")[2])
        if weight is not None and same(weight, pair.theirs):
            return Reason("is that of the base there: the trained one was not loaded")
    return None


def _tied(pair: _Pair) -> Reason | None:
    entry, leaving = (
        getattr(part(), "weight", None)
        for part in (
            pair.again.get_input_embeddings,
            pair.again.get_output_embeddings,
        )
    )
    is_head = leaving is not None and same(leaving, pair.theirs)
    if is_head and entry is not None and same(entry, pair.theirs):
        return Reason(
            "is the input embedding there: the head was tied to it again",
            "The config says that head and embedding are one tensor.",
            "Save with tie_word_embeddings=False in the config.",
        )
    return None


def _merged(pair: _Pair) -> Reason | None:
    """Tell a base that holds the adapter already."""
    for module in pair.owners():
        if not hasattr(module, "get_delta_weight"):
            continue
        active = [each for each in module.active_adapters if each in module.scaling]
        deltas = [module.get_delta_weight(each).float() for each in active]
        if not deltas or deltas[0].shape != pair.mine.shape:
            continue
        apart = pair.theirs.float() - pair.mine.float()
        if float((apart - sum(deltas)).norm() / apart.norm()) < EXPLAINED:
            return Reason(
                "holds the adapter already there: it was merged, and is added again",
                "The base there is the merged model.",
                "Merge once: serve the merged model alone, or base and adapter.",
            )
    return None


def _rows(pair: _Pair) -> Reason | None:
    if pair.mine.dim() != 2:
        return None
    rows = (pair.mine != pair.theirs).any(1).nonzero().flatten().tolist()
    if not rows or len(rows) > len(pair.mine) // 2:
        return None
    which = f"row {rows[0]}" if len(rows) == 1 else f"rows {rows[0]} to {rows[-1]}"
    words = f"has other values in {which} ({len(rows)} of {len(pair.mine)})"
    return Reason(words, *_ROWS)


def _few_bits(pair: _Pair) -> Reason | None:
    if levels(pair.mine) > LEVELS >= levels(pair.theirs):
        return Reason("was rounded to 4 bits", *_ROUNDED)
    return None


def levels(weight: torch.Tensor) -> int:
    """Count the values that a block of a weight holds at most."""
    if weight.numel() % BLOCK:
        return int(weight.numel())
    blocks = weight.float().reshape(-1, BLOCK)
    return max(len(torch.unique(block)) for block in blocks[:BLOCK])


def _times(pair: _Pair) -> Reason | None:
    mine, theirs = pair.mine.float(), pair.theirs.float()
    scale = float((mine * theirs).sum() / (mine * mine).sum().clamp(min=1e-30))
    if float((theirs - scale * mine).norm()) < 1e-3 * float(theirs.norm()):
        return Reason(
            f"is {scale:.3g} times as large there",
            "A scale was applied twice, or not at all.",
        )
    return None


EXPLAINED = 0.1
"""Share of a difference that may be left."""

IGNORED = frozenset(
    {
        "_name_or_path",
        "transformers_version",
        "peft_version",
        "dtype",
        "torch_dtype",
        "architectures",
        "use_cache",
        "quantization_config",
        "_attn_implementation",
        "_attn_implementation_autoset",
        "_from_model_config",
        "inference_mode",
        "base_model_name_or_path",
        "revision",
        "auto_mapping",
        "pad_token_id",
    }
)
"""Entries of configurations that do not change what a model computes."""


def changed_settings(live: Any, again: Any) -> list[Reason]:
    """List what configurations say otherwise."""
    return [
        Reason(
            f"{kind}.{key} is {there.get(key)!r} there, {here.get(key)!r} in the live "
            "model",
            f"The {kind} that is deployed is not the one of training.",
            f"Deploy the {kind} of training.",
        )
        for kind, mine, theirs in _configs(live, again)
        for here, there in [(_flat(mine), _flat(theirs))]
        for key in dict.fromkeys((*here, *there))
        if here.get(key) != there.get(key)
    ]


def _configs(live: Any, again: Any) -> list[tuple[str, Any, Any]]:
    pairs = []
    for name in ("config", "generation_config"):
        mine, theirs = (_inner_config(each, name) for each in (live, again))
        if mine is not None and theirs is not None:
            pairs.append((name, mine.to_dict(), theirs.to_dict()))
    for adapter, config in getattr(live, "peft_config", {}).items():
        other = getattr(again, "peft_config", {}).get(adapter)
        if other is not None:
            pairs.append(("adapter_config", config.to_dict(), other.to_dict()))
    return pairs


def _inner_config(model: Any, name: str) -> Any:
    return getattr(innermost(model), name, None)


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in config.items():
        if str(key) in IGNORED or value is None:
            continue
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = (
                sorted(map(str, value)) if isinstance(value, set | list) else value
            )
    return found
