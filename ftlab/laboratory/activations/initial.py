"""Values of parameters beside those that their class begins with.

Trained weights are no initial ones: without ``fresh`` only what no training leaves is
told: NaN, a matrix of one value or of equal rows, and one that is plainly drawn at
random and has another size than its class gives it.
"""

import copy
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from ftlab.laboratory.activations.counterpart import Counterparts
from ftlab.laboratory.activations.depth import blocks_in
from ftlab.laboratory.activations.drawn import Values, is_drawn, values_of
from ftlab.probes.naming import NamedParameter, clean_name, named_parameters, roles_of
from ftlab.records.activation import ParameterStart, PartFault, PartSeverity
from ftlab.records.places import place_of

MOST = 2**26
"""Elements of a module that is drawn afresh at most: 256 MiB."""

FAR = 10.0
"""Times the size that its class prescribes, from which on plainly untrained weights are
told. Torch's own linear layers have 1 / sqrt(3 in): 7 times the 0.02 of transformers at
16 inputs, a tenth of it at 80,000."""

LEAST = 8
"""Rows and columns from which on equal ones tell: RoBERTa's one type of token is 0."""

BOUND = 6.0
"""Standard errors that a standard deviation or mean may be off in a fresh model: one in
a billion by chance. Of n normal values the former's is s / sqrt(2 n)."""

FEW = 32
"""Values below which their spread says nothing."""

_EMPTY = PartFault(
    "initialisation",
    (),
    "all of it is 0, as each projection that ends a part of its block: the block adds "
    "nothing until it is trained",
    "Right for blocks that are added to a trained model, as LLaMA Pro does.",
    "info",
)
_DRAW = "Draw it as its class does: model._init_weights(module), reset_parameters()."


def starts(
    model: torch.nn.Module, pairs: Counterparts, *, fresh: bool
) -> tuple[list[ParameterStart], list[PartFault], list[str]]:
    """Return each parameter's values, faults among them, and what is not known."""
    prescribed, roles = _Prescribed(model, pairs), roles_of(model)
    rows: list[ParameterStart] = []
    faults: list[PartFault] = []
    packed: list[str] = []
    for named in named_parameters(model):
        parameter = named.parameter
        if not parameter.is_floating_point() or hasattr(parameter, "quant_state"):
            packed.append(named.name)
            continue
        values, drawn = values_of(parameter), is_drawn(parameter)
        wanted = None
        odd = values.finite and (fresh or drawn or values.equal_rows)
        if odd and roles[id(parameter)].role == "weight":
            wanted = prescribed.of(named)
        std = wanted.std if wanted else float("nan")
        rows.append(ParameterStart(named.name, values.std, values.mean, std, drawn))
        # PiSSA and its like take a part of the base's weights out
        strict = fresh and ".base_layer." not in named.name
        told = _judged(named, values, wanted, drawn=drawn, fresh=strict)
        faults += [told] if told else []
    passed = _of_empty_blocks(model, rows)
    faults = [
        replace(_EMPTY, places=e.places) if e.places[0] in passed else e for e in faults
    ]
    said = f"initialisation of {len(packed)} parameters in few bits, such as "
    return rows, faults, [said + packed[0]] if packed else []


def _of_empty_blocks(
    model: torch.nn.Module, rows: Iterable[ParameterStart]
) -> set[str]:
    """Return weights by which whole blocks begin as nothing, on purpose.

    Blocks that are added to a trained model do (LLaMA Pro): each projection that ends a
    part of it is 0, and what goes before is not.
    """
    weights = {e.name: e for e in rows if e.name.endswith(".weight")}
    found: set[str] = set()
    for path in map(clean_name, blocks_in(model)):
        inner = [name for name in weights if name.startswith(f"{path}.")]
        roles = {n: place_of(n.removesuffix(".weight")).split(".")[-1] for n in inner}
        zero = {n for n in inner if not weights[n].std and not weights[n].mean}
        ends = {name for name, role in roles.items() if role in ("out", "down")}
        if len(ends) > 1 and zero == ends:
            found |= ends
    return found


def _judged(
    named: NamedParameter,
    values: Values,
    wanted: Values | None,
    *,
    drawn: bool,
    fresh: bool,
) -> PartFault | None:
    """Say what is wrong with a parameter, if anything is."""
    name = (named.name,)
    if not values.finite:
        said, fix = "it holds NaN or infinity", "Load it again, or draw it anew."
        return PartFault("initialisation", name, said, fix)
    if wanted is None:
        return None
    said = _degenerate(values, wanted)
    ratio = values.std / wanted.std if wanted.std else 1.0
    # authors draw as they like: of their own models only what blows up is told
    far = ratio > FAR or (ratio < 1 / FAR and not wanted.of_torch)
    if not said and drawn and far:
        said = _size_words(values, wanted)
        return PartFault("initialisation", name, said, _DRAW, "warning")
    if not said and fresh:
        said = _strictly(values, wanted, 2 * torch.finfo(named.parameter.dtype).eps)
    severity: PartSeverity = "info" if wanted.of_torch else "warning"
    return PartFault("initialisation", name, said, _DRAW, severity) if said else None


def _degenerate(values: Values, wanted: Values) -> str:
    """Say what leaves nothing to tell units or tokens apart."""
    if values.side < LEAST or not wanted.std or wanted.equal_rows:
        return ""
    if values.std == 0 and values.mean == 0:
        return f"all of it is 0; its class draws it at random (std {wanted.std:.3g})"
    if values.std == 0:
        return f"all of it is {values.mean:.4g}: no two units can become different"
    return "all of its rows are equal: no two units differ" if values.equal_rows else ""


def _strictly(values: Values, wanted: Values, rounding: float) -> str:
    """Hold a fresh model's parameter to what its class draws, by chance alone."""
    drift = abs(values.mean - wanted.mean)
    if not wanted.std:
        allowed = rounding * (1 + abs(wanted.mean))
        if drift <= allowed and values.std <= allowed:
            return ""
        said = f"mean {values.mean:.4g}, std {values.std:.3g}; its class makes all of"
        return f"{said} it {wanted.mean:.4g}"
    # both were drawn; a kurtosis of 3 is a normal distribution's
    if values.size < FEW:
        return ""
    spread = (max(wanted.kurtosis, values.kurtosis) - 1) / 4
    share = 1 / values.size + 1 / wanted.size
    error = math.sqrt(spread * share)
    if abs(values.std / wanted.std - 1) > BOUND * error + rounding:
        return _size_words(values, wanted)
    if drift > BOUND * wanted.std * math.sqrt(share):
        return f"its mean is {values.mean:.3g}; its class makes it {wanted.mean:.3g}"
    return ""


def _size_words(values: Values, wanted: Values) -> str:
    times = f"{values.std / wanted.std:.3g} times"
    return f"std {values.std:.3g}, {times} the {wanted.std:.3g} that its class draws"


class _Prescribed:
    """What classes begin with: each kind of parameter is drawn once."""

    def __init__(self, model: torch.nn.Module, pairs: Counterparts) -> None:
        self._model, self._pairs = model, pairs
        self._known: dict[Any, Values | None] = {}
        self._owners = {
            id(parameter): (path, module, name)
            # of weights that are tied, the first module's class draws them
            for path, module in reversed(list(model.named_modules()))
            for name, parameter in module.named_parameters(recurse=False)
        }

    def of(self, named: NamedParameter) -> Values | None:
        """Return the values of a parameter of the same class, freshly drawn."""
        path, leaf, name = self._owners[id(named.parameter)]
        path = path.replace(".base_layer", "")
        above, _, last = path.rpartition(".")
        pair, parent = self._pairs.get(path), self._pairs.get(above)
        kinds = type(leaf), type(parent.module) if parent else None
        held = vars(pair.module) if pair else {}
        layer = held.get("layer_id", held.get("layer_idx"))  # RWKV's draws follow it
        key = (*kinds, last, name, layer, tuple(named.parameter.shape))
        if key not in self._known:
            drawn = None
            if pair is not None:
                # a parent may draw its children otherwise: GPT-2's residual layers
                whole = parent is not None and _size(parent.module) <= MOST
                owner = parent.module if whole and parent else pair.module
                drawn = self._of_library(path, owner, last if whole else "", name)
            elif self._pairs.foreign and self._draws_alone(path, leaf):
                drawn = _of_torch(leaf, name)
            self._known[key] = drawn
        return self._known[key]

    def _draws_alone(self, path: str, leaf: Any) -> bool:
        """Say whether no module above draws it otherwise, as torch's attention does."""
        steps = path.split(".")
        above = (".".join(steps[:at]) for at in range(len(steps) if path else 0))
        drawing = ("reset_parameters", "_reset_parameters")
        modules = [self._model.get_submodule(each) for each in above]
        otherwise = any(hasattr(each, name) for each in modules for name in drawing)
        return hasattr(leaf, "reset_parameters") and not otherwise

    def _of_library(self, path: str, owner: Any, last: str, name: str) -> Any:
        """Draw as the library does, a module with what its parent does to it."""
        built: Any = None
        while not hasattr(built, "_init_weights"):  # the nearest model's that it is in
            pair = self._pairs.get(path)
            built = pair.module if pair else built
            path = path.rpartition(".")[0]
        if _size(owner) > MOST:
            return None
        made = copy.deepcopy(owner).to_empty(device="cpu")
        for parameter in made.parameters():
            vars(parameter).pop("_is_hf_initialized", None)
            parameter.data.fill_(float("nan"))
        for module in reversed(list(made.modules())):
            built._init_weights(module)  # noqa: SLF001  no public name
        weight = getattr(made.get_submodule(last), name, None)
        values = values_of(weight) if isinstance(weight, torch.Tensor) else None
        return values if values and values.finite else None


def _of_torch(leaf: Any, name: str) -> Values | None:
    """Draw as torch's own class does."""
    if _size(leaf) > MOST:
        return None
    made = copy.deepcopy(leaf).float()
    made.reset_parameters()
    return values_of(getattr(made, name))._replace(of_torch=True)


def _size(module: torch.nn.Module) -> int:
    return sum(each.numel() for each in module.parameters())
