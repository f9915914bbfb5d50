"""The library's own module beside one of a model, computing with the model's weights.

Who calls whom: `Counterparts` builds the model's class of transformers again on the
meta device, without memory, and pairs modules by path. Where code or settings of a pair
differ, `Counterpart.run` executes the library's forward with the model's own parameters
and inner modules, so that a fault is blamed on the module whose own code has it.
"""

import contextlib
import copy
import inspect
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.laboratory.activations.pristine import has_patches, pristine

_LIBRARY = "transformers.models."
_WRAPPED = ("peft.", "bitsandbytes.", "torchao.", "hqq.", "transformers.integrations.")
_NO_SETTING = re.compile(r"_.*|.*drop.*|.*pad.*|training|layer_idx|gradient_.*")
_AROUND = {"_original_forward", "_old_forward"}
"""Where accelerate keeps a forward that it only casts or moves around."""
_LEAVES = (torch.nn.Linear, torch.nn.Dropout, torch.nn.Identity, torch.nn.ModuleList)


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The library's module for one of a model, and the numbers in which they differ.

    Its parameters are on the meta device; ``settings`` has names, the model's values
    and the library's.
    """

    module: torch.nn.Module
    mine: torch.nn.Module
    settings: tuple[tuple[str, float, float], ...] = ()

    def run(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        helpers: Mapping[str, Any] | None = None,
        inner: Mapping[str, torch.nn.Module] | None = None,
    ) -> Any:
        """Call the library's forward, with other functions or modules by name."""
        tensors = (e for e in (*args, *kwargs.values()) if isinstance(e, torch.Tensor))
        first = next(tensors, torch.empty(0))
        clone = self._clone(first.device)
        clone._modules.update(inner or {})  # noqa: SLF001  a copy's
        forward: Any = type(clone).forward
        attends = self.attends_by_own()
        # eager is what it falls back to where no other attention is asked for
        if (helpers or attends) and "config" in vars(clone):
            config: Any = copy.copy(self.mine.config)
            config._attn_implementation = "eager"  # noqa: SLF001  a copy's
            vars(clone)["config"] = config
        if attends and not helpers:
            mask = kwargs.get("attention_mask")
            kwargs = {**kwargs, "attention_mask": _added(mask, clone, first)}
        if helpers:
            bare = inspect.unwrap(forward)
            space = {**bare.__globals__, **helpers}
            # a copy that sees other helpers, so that nothing of the library is patched
            forward = types.FunctionType(
                bare.__code__, space, "", bare.__defaults__, bare.__closure__
            )
            forward.__kwdefaults__ = bare.__kwdefaults__
        return forward(clone, *args, **kwargs)

    def _clone(self, device: torch.device) -> torch.nn.Module:
        """Return a shallow copy of the library's that holds the model's weights."""
        clone = copy.copy(self.module)
        own, mine = vars(clone), vars(self.mine)
        for table in ("_parameters", "_buffers", "_modules"):
            own[table] = {
                name: mine[table].get(name, value) if _is_meta(value) else value
                for name, value in own[table].items()
            }
        for name, value in own["_buffers"].items():
            if value is not None and not value.is_meta:
                own["_buffers"][name] = value.to(device)
        if "config" in own and hasattr(self.mine, "config"):
            own["config"] = self.mine.config
        own["training"] = False
        return clone

    def fits(self) -> bool:
        """Say whether the model's module has all that the library's forward needs."""
        mine = vars(self.mine)
        return all(
            not _is_meta(value) or name in mine[table]
            for table in ("_parameters", "_modules", "_buffers")
            for name, value in vars(self.module)[table].items()
        )

    def attends_by_own(self) -> bool:
        """Say whether it attends by a function that the user has registered.

        Where the library's module looks it up, under the name that the config has.
        """
        forward: Any = inspect.unwrap(type(self.module).forward)
        known = forward.__globals__.get("ALL_ATTENTION_FUNCTIONS", {})
        if "ALL_ATTENTION_FUNCTIONS" not in forward.__code__.co_names:
            return False
        config = getattr(self.mine, "config", None)
        function = known.get(getattr(config, "_attn_implementation", None), None)
        function = getattr(function, "func", function)  # a kernel's is a partial
        package = str(getattr(function, "__module__", "")).partition(".")[0]
        return callable(function) and package not in ("transformers", "torch")

    def may_differ(self) -> bool:
        """Say whether it may compute something else than the library's."""
        mine, theirs = type(self.mine), type(self.module)
        if mine.__module__.startswith(_WRAPPED) or theirs in _LEAVES:
            return False  # what stands there instead is a wrapper, or nothing
        if theirs not in mine.__mro__:
            return True
        between = mine.__mro__[: mine.__mro__.index(theirs)]
        overridden = {n for e in between for n, v in vars(e).items() if callable(v)}
        return bool(
            overridden - {"__init__"}
            or ("forward" in vars(self.mine) and not _AROUND & vars(self.mine).keys())
            or self.settings
            or _other_buffers(self.mine, self.module)
            or self.attends_by_own()
            or has_patches(theirs)
        )


class Counterparts:
    """The library's modules of a model, by the model's paths.

    Attributes
    ----------
    roots
        The library's models within, on the meta device, by path.
    remarks
        What could not be built, and why.
    foreign
        Whether no model of the library is within.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._pairs: dict[str, Counterpart] = {}
        self.roots: dict[str, Any] = {}
        self.remarks: list[str] = []
        found: list[str] = []
        for path, module in model.named_modules():
            library = library_class(type(module))
            within = any(f"{path}.".startswith(f"{e}." if e else "") for e in found)
            if within or not hasattr(library, "_init_weights"):
                continue
            found.append(path)
            try:
                self._build(path, module, library)
            except Exception as error:  # noqa: BLE001  a class of its own kind: told
                said = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
                name = type(module).__name__
                self.remarks.append(f"{name}, not built again from its config ({said})")
        self.foreign = not found

    def _build(self, root: str, mine: Any, library: Any) -> None:
        with torch.device("meta"), _quiet():
            built = library(copy.deepcopy(mine.config)).eval()
        known = dict(built.named_modules())
        self.roots[root] = built
        for path, module in mine.named_modules():
            other: Any = known.get(path.replace(".base_layer", ""))
            if other is None:
                continue
            if vars(other)["_buffers"]:
                other = _with_buffers(built, other)
            kind: Any = type(other)
            if has_patches(kind):
                other = copy.copy(other)
                other.__class__ = pristine(kind)
            pair = Counterpart(other, module, _settings(module, other))
            self._pairs[f"{root}.{path}".strip(".")] = pair

    def get(self, path: str) -> Counterpart | None:
        """Return the counterpart of a module, whatever wraps it."""
        return self._pairs.get(path) or self._pairs.get(path.replace(".base_layer", ""))

    def suspects(self) -> dict[str, Counterpart]:
        """Return what may compute something else than the library's."""
        return {path: e for path, e in self._pairs.items() if e.may_differ()}


def library_class(kind: type) -> Any:
    """Return the class of a model of transformers that a class is, or derives from."""
    found = (e for e in kind.__mro__ if e.__module__.startswith(_LIBRARY))
    return next(found, None)


def _added(mask: Any, module: Any, states: torch.Tensor) -> Any:
    """Return a mask as eager attention adds it to scores.

    An implementation of the user's is given none, or one of truth values, where it has
    registered no function for masks or that of SDPA.
    """
    if mask is None and getattr(module, "is_causal", False):
        length = states.shape[-2]
        mask = states.new_ones(1, 1, length, length, dtype=torch.bool).tril()
    if isinstance(mask, torch.Tensor) and mask.dtype == torch.bool:
        least = torch.finfo(states.dtype).min
        return torch.zeros_like(mask, dtype=states.dtype).masked_fill(~mask, least)
    return mask


def _is_meta(value: Any) -> bool:
    return isinstance(value, torch.nn.Module) or bool(getattr(value, "is_meta", False))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers from telling about a model that nobody has asked for."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _with_buffers(built: Any, module: torch.nn.Module) -> torch.nn.Module:
    """Return a module with the values that its buffers begin with.

    Those of rotary positions follow from the configuration alone; others are set where
    the library draws weights. What stays NaN is taken from the model.
    """
    config = getattr(module, "config", None)
    if config is not None and not list(module.parameters()):
        with contextlib.suppress(Exception):  # it takes something else
            return type(module)(config).eval()
    made, own = copy.copy(module), vars(module)["_buffers"]
    floats = {n: e for n, e in own.items() if e is not None and e.is_floating_point()}
    filled = {n: torch.full(e.shape, torch.nan) for n, e in floats.items()}
    vars(made)["_buffers"] = {**own, **filled}
    with contextlib.suppress(Exception):  # on the meta device it need not work
        built._init_weights(made)  # noqa: SLF001  no public name
    known = {name: each for name, each in filled.items() if not each.isnan().any()}
    vars(made)["_buffers"] = {**own, **known}
    return made


def _settings(mine: Any, theirs: Any) -> tuple[tuple[str, float, float], ...]:
    """Return the numbers in which two modules of one class differ."""
    if library_class(type(mine)) is not library_class(type(theirs)):
        return ()
    a = vars(mine)
    return tuple(
        (name, float(a[name]), float(value))
        for name, value in vars(theirs).items()
        if isinstance(value, float | int)
        and isinstance(a.get(name), float | int)
        and a[name] != value
        and not _NO_SETTING.fullmatch(name)
    )


def _other_buffers(mine: torch.nn.Module, theirs: torch.nn.Module) -> bool:
    """Say whether buffers differ that the library computes from the configuration."""
    pairs = [
        (mine.get_buffer(name).detach().cpu().double(), value.double())
        for name, value in theirs.named_buffers(recurse=False)
        if not value.is_meta and name in vars(mine)["_buffers"]
    ]
    # in bfloat16 they are right to 0.4 %
    near = (a.shape == b.shape and torch.allclose(a, b, rtol=1e-2) for a, b in pairs)
    return not all(near)
