"""Values of parameters beside those that their class begins with.

Trained weights are no initial ones: without ``fresh`` only what no training leaves is
told: NaN, a matrix of one value or of equal rows, and one that is plainly drawn at
random and has another size than its class gives it.
"""

import copy
import math
from typing import Any

import torch

from ftlab.laboratory.activations.counterpart import Counterparts
from ftlab.laboratory.activations.drawn import Values, is_drawn, values_of
from ftlab.probes.naming import NamedParameter, named_parameters, roles_of
from ftlab.records.activation import ParameterStart, PartFault, PartSeverity

MOST = 2**26
"""Elements of a module that is built afresh at most: 256 MiB."""

FAR = 10.0
"""Times the size that its class prescribes, from which on weights that are plainly
untrained are told. Torch's own start of a linear layer, 1 / sqrt(3 in), is 7 times the
0.02 of transformers at 16 inputs and a tenth of it from 80,000 on."""

BOUND = 6.0
"""Standard errors that a standard deviation or mean may be off in a fresh model: one in
a billion by chance. Of n normal values the former's is s / sqrt(2 n)."""

_COPIES = ("modules_to_save", "original_module")


def starts(
    model: torch.nn.Module, pairs: Counterparts, *, fresh: bool
) -> tuple[list[ParameterStart], list[PartFault], list[str]]:
    """Return each parameter's values, faults among them, and what is not known."""
    prescribed = _Prescribed(model, pairs)
    roles = roles_of(model)
    rows, faults, unknown = [], [], []
    for named in named_parameters(model):
        if not named.parameter.is_floating_point() or hasattr(
            named.parameter, "quant_state"
        ):
            unknown.append(named.name)
            continue
        values = values_of(named.parameter)
        adapter = roles[id(named.parameter)].role != "weight"
        drawn = is_drawn(named.parameter)
        wanted = None
        odd = drawn or values.std == 0 or values.equal_rows
        if not adapter and values.finite and (fresh or odd):
            wanted = prescribed.of(named)
        rows.append(
            ParameterStart(
                named.name,
                values.std,
                values.mean,
                wanted.std if wanted else float("nan"),
                drawn,
            )
        )
        told = _judged(named, values, wanted, drawn, fresh and not adapter)
        faults += [told] if told else []
    return rows, faults, _words(unknown)


def _words(unknown: list[str]) -> list[str]:
    if not unknown:
        return []
    return [
        f"initialisation of {len(unknown)} parameters in few bits, such as {unknown[0]}"
    ]


def _judged(
    named: NamedParameter,
    values: Values,
    wanted: Values | None,
    drawn: bool,
    fresh: bool,
) -> PartFault | None:
    if not values.finite:
        said = "it holds NaN or infinity"
        return _fault(named, said, "Load it again, or draw it anew.")
    if wanted is None:
        return None
    found = _degenerate(values, wanted)
    if found:
        return _fault(named, *found)
    ratio = values.std / wanted.std if wanted.std else 1.0
    far = not 1 / FAR < ratio < FAR
    own = wanted.of_torch  # authors draw as they like: only what blows up is told
    if drawn and far and (not own or ratio > FAR):
        return _fault(named, _size_words(values, wanted), _DRAW)
    if fresh:
        return _strictly(named, values, wanted)
    return None


_DRAW = "Draw it as its class does: model._init_weights(module), reset_parameters()."


def _degenerate(values: Values, wanted: Values) -> tuple[str, str, PartSeverity] | None:
    """Say what leaves nothing to tell units or tokens apart."""
    if values.shape < 2 or not wanted.std or wanted.equal_rows:
        return None
    severity: PartSeverity = "info" if wanted.of_torch else "warning"
    if values.std == 0 and values.mean == 0:
        said = f"all of it is 0; its class draws it at random (std {wanted.std:.3g})"
        return said, _DRAW, severity
    if values.std == 0:
        said = f"all of it is {values.mean:.4g}: no two units can become different"
        return said, _DRAW, "warning"
    if values.equal_rows:
        return "all of its rows are equal: no two units can differ", _DRAW, "warning"
    return None


def _strictly(
    named: NamedParameter, values: Values, wanted: Values
) -> PartFault | None:
    """Hold a fresh model's parameter to what its class draws, by chance alone."""
    severity: PartSeverity = "info" if wanted.of_torch else "warning"
    rounding = 2 * torch.finfo(named.parameter.dtype).eps
    if not wanted.std:
        off = abs(values.mean - wanted.mean) > rounding * (1 + abs(wanted.mean))
        if not off and values.std <= rounding * abs(wanted.mean):
            return None
        said = (
            f"mean {values.mean:.4g}, std {values.std:.3g}; its class makes all of it"
        )
        return _fault(named, f"{said} {wanted.mean:.4g}", _DRAW, severity)
    # both were drawn; a kurtosis of 3 is a normal distribution's
    spread = (max(wanted.kurtosis, values.kurtosis, 1.0) - 1) / 4
    error = math.sqrt(spread * (1 / values.count + 1 / wanted.count))
    ratio = values.std / wanted.std
    drift = wanted.std / math.sqrt(min(values.count, wanted.count))
    if abs(ratio - 1) > BOUND * error + rounding:
        return _fault(named, _size_words(values, wanted), _DRAW, severity)
    if abs(values.mean - wanted.mean) > BOUND * math.sqrt(2) * drift:
        said = f"its mean is {values.mean:.3g}; its class makes it {wanted.mean:.3g}"
        return _fault(named, said, _DRAW, severity)
    return None


def _size_words(values: Values, wanted: Values) -> str:
    times = values.std / wanted.std
    return (
        f"std {values.std:.3g}, {times:.3g} times the {wanted.std:.3g} that its class "
        "draws"
    )


def _fault(
    named: NamedParameter, said: str, fix: str, severity: PartSeverity = "warning"
) -> PartFault:
    if not fix.startswith("Draw"):
        severity = "error"
    return PartFault("initialisation", (named.name,), said, fix, severity)


class _Prescribed:
    """What classes begin with: each kind of parameter is drawn once."""

    def __init__(self, model: torch.nn.Module, pairs: Counterparts) -> None:
        self._model, self._pairs = model, pairs
        self._known: dict[Any, Values | None] = {}
        self._paths = {
            id(p): path
            for path, module in model.named_modules()
            for p in module.parameters(recurse=False)
        }

    def of(self, named: NamedParameter) -> Values | None:
        """Return the values of a parameter of the same class, freshly drawn."""
        path = self._paths[id(named.parameter)]
        if any(part in path.split(".") for part in _COPIES):
            return None
        leaf = self._model.get_submodule(path)
        name = next(
            n for n, p in leaf.named_parameters(recurse=False) if p is named.parameter
        )
        root = next(
            (r for r in self._pairs.roots if not r or f"{path}.".startswith(f"{r}.")),
            None,
        )
        last = path.replace(".base_layer", "").rpartition(".")[2]
        parent = path.replace(".base_layer", "").rpartition(".")[0]
        owner = self._pairs.get(parent)
        kind = type(owner.module) if owner else None
        key = (root, kind, last, name, tuple(named.parameter.shape))
        if key not in self._known:
            drawn = None
            if root is not None:
                drawn = self._of_library(self._pairs.roots[root], path, name)
            elif hasattr(leaf, "reset_parameters"):
                drawn = _of_torch(leaf, name)
            self._known[key] = drawn
        return self._known[key]

    def _of_library(self, built: Any, path: str, name: str) -> Values | None:
        """Draw as the library does, a module with what its parent does to it."""
        pair = self._pairs.get(path)
        parent_path, _, last = path.replace(".base_layer", "").rpartition(".")
        parent = self._pairs.get(parent_path)
        if pair is None:
            return None
        whole = parent is not None and _size(parent.module) <= MOST
        if not whole and _size(pair.module) > MOST:
            return None
        owner = parent.module if whole and parent is not None else pair.module
        made = copy.deepcopy(owner).to_empty(device="cpu")
        for parameter in made.parameters():
            vars(parameter).pop("_is_hf_initialized", None)
            parameter.data.fill_(float("nan"))
        for module in reversed(list(made.modules())):
            built._init_weights(module)  # noqa: SLF001
        leaf = getattr(made, last) if whole else made
        weight = getattr(leaf, name, None)
        if weight is None or not bool(weight.isfinite().all()):
            return None
        return values_of(weight)


def _of_torch(leaf: Any, name: str) -> Values | None:
    if _size(leaf) > MOST:
        return None
    made = copy.deepcopy(leaf).float()
    made.reset_parameters()
    return values_of(getattr(made, name))._replace(of_torch=True)


def _size(module: torch.nn.Module) -> int:
    return sum(each.numel() for each in module.parameters())
