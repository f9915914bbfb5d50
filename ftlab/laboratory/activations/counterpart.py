"""The library's own module beside one of a model, computing with the model's weights.

Who calls whom: `Counterparts` builds the model's class of transformers again on the
meta device, without memory, and pairs its modules with the model's by path. Where code
or settings of a pair differ, `Counterpart.run` executes the library's forward with the
model's own parameters and inner modules, so that a fault is blamed on the module whose
own code has it.
"""

import contextlib
import copy
import inspect
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

_LIBRARY = "transformers.models."
_WRAPPED = ("peft.", "bitsandbytes.", "torchao.", "hqq.", "transformers.integrations.")
_NO_SETTING = re.compile(
    r"_.*|.*drop.*|training|layer_idx|gradient_checkpointing|.*pad.*"
)


@dataclass(frozen=True, slots=True)
class Counterpart:
    """One module of the library, for one of a model at the same place.

    Attributes
    ----------
    module
        On the meta device, or a fresh one where it has no parameters.
    mine
        The model's.
    settings
        Numbers in which they differ: name, the model's, the library's.
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
        """Call the library's forward.

        Parameters
        ----------
        args, kwargs
            What the model's own module was called with.
        helpers
            Functions to use in place of the library's of that name.
        inner
            Modules to use in place of the model's of that name.
        """
        clone = self._clone()
        clone._modules.update(inner or {})  # noqa: SLF001
        forward = inspect.unwrap(type(clone).forward)
        if helpers and isinstance(forward, types.FunctionType):
            forward = types.FunctionType(
                forward.__code__,
                {**forward.__globals__, **helpers},
                forward.__name__,
                forward.__defaults__,
                forward.__closure__,
            )
            forward.__kwdefaults__ = inspect.unwrap(type(clone).forward).__kwdefaults__
            return forward(clone, *args, **kwargs)
        return type(clone).forward(clone, *args, **kwargs)

    def _clone(self) -> torch.nn.Module:
        """Return a shallow copy of the library's that holds the model's weights."""
        clone = copy.copy(self.module)
        own, mine = vars(clone), vars(self.mine)
        for table in ("_parameters", "_buffers", "_modules"):
            own[table] = {
                name: mine.get(table, {}).get(name, value) if _is_meta(value) else value
                for name, value in own[table].items()
            }
        for name, value in list(own.items()):
            if isinstance(value, torch.Tensor) and value.is_meta:
                own[name] = getattr(self.mine, name, value)
        device = next((e.device for e in self.mine.buffers()), torch.device("cpu"))
        own["_buffers"] = {
            name: value if value is None or value.is_meta else value.to(device)
            for name, value in own["_buffers"].items()
        }
        if "config" in own and hasattr(self.mine, "config"):
            own["config"] = self.mine.config
        own["training"] = False
        return clone

    def fits(self) -> bool:
        """Say whether the model's module has all that the library's forward needs."""
        mine = vars(self.mine)
        return all(
            not _is_meta(value) or name in mine.get(table, {})
            for table in ("_parameters", "_modules", "_buffers")
            for name, value in vars(self.module)[table].items()
        )


def _is_meta(value: Any) -> bool:
    if isinstance(value, torch.nn.Module):
        return True
    return isinstance(value, torch.Tensor) and value.is_meta


@dataclass(slots=True)
class Counterparts:
    """The library's modules of a model, by the model's paths.

    Attributes
    ----------
    remarks
        What could not be built, and why.
    foreign
        Whether a model's code is its author's own, as a whole.
    """

    _pairs: dict[str, Counterpart] = field(default_factory=dict)
    roots: dict[str, torch.nn.Module] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    foreign: bool = True

    @classmethod
    def of(cls, model: torch.nn.Module) -> "Counterparts":
        """Build the library's models that are in a model."""
        it = cls()
        for path, module in model.named_modules():
            library = library_class(type(module))
            within = any(
                path == r or path.startswith(f"{r}." if r else "") for r in it.roots
            )
            if library is None or within or not hasattr(module, "config"):
                continue
            if not hasattr(library, "_init_weights"):
                continue
            it.foreign = False
            try:
                with torch.device("meta"), _quiet():
                    built = library(copy.deepcopy(module.config))
            except Exception as error:  # noqa: BLE001  a class of its own kind: told
                said = str(error).split("\n")[0][:120]
                it.remarks.append(
                    f"{library.__name__} cannot be built from its configuration for "
                    f"comparison ({type(error).__name__}: {said})"
                )
                continue
            it.roots[path] = built.eval()
            it._pair(path, module, built)
        return it

    def _pair(self, root: str, mine: torch.nn.Module, theirs: torch.nn.Module) -> None:
        known = dict(theirs.named_modules())
        for path, module in mine.named_modules():
            other = known.get(path.replace(".base_layer", "") if path else "")
            if other is None:
                continue
            if vars(other)["_buffers"]:
                other = _with_buffers(theirs, other)
            name = f"{root}.{path}".strip(".")
            self._pairs[name] = Counterpart(other, module, _settings(module, other))

    def get(self, path: str) -> Counterpart | None:
        """Return the counterpart of a module."""
        return self._pairs.get(path)

    def suspects(self) -> Iterator[tuple[str, Counterpart]]:
        """Yield what may compute something else than the library's."""
        for path, pair in self._pairs.items():
            if _may_differ(pair):
                yield path, pair


def library_class(kind: type) -> type[Any] | None:
    """Return the class of a model of transformers that a class is, or derives from."""
    found = (e for e in kind.__mro__ if e.__module__.startswith(_LIBRARY))
    return next(found, None)


def is_library(module: torch.nn.Module) -> bool:
    """Say whether a module's class is of a library and not its user's."""
    return type(module).__module__.partition(".")[0] in {
        "torch",
        "transformers",
        "peft",
        "bitsandbytes",
        "accelerate",
        "torchao",
        "trl",
    }


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
    filled = {
        name: torch.full(each.shape, float("nan"), dtype=each.dtype)
        for name, each in own.items()
        if each is not None and each.is_floating_point()
    }
    vars(made)["_buffers"] = {**own, **filled}
    with contextlib.suppress(Exception):  # on the meta device it need not work
        built._init_weights(made)  # noqa: SLF001
    known = {name: each for name, each in filled.items() if not each.isnan().any()}
    vars(made)["_buffers"] = {**own, **known}
    return made


def _settings(mine: Any, theirs: Any) -> tuple[tuple[str, float, float], ...]:
    """Return the numbers in which two modules of one class differ."""
    if library_class(type(mine)) is not type(theirs):
        return ()
    a, b = vars(mine), vars(theirs)
    return tuple(
        (name, float(a[name]), float(value))
        for name, value in b.items()
        if isinstance(value, float | int)
        and isinstance(a.get(name), float | int)
        and a[name] != value
        and not _NO_SETTING.fullmatch(name)
    )


def _may_differ(pair: Counterpart) -> bool:
    mine, theirs = pair.mine, pair.module
    kind = type(mine).__module__
    if kind.startswith(_WRAPPED) or isinstance(mine, torch.nn.ModuleList):
        return False
    if type(theirs) in (torch.nn.Linear, torch.nn.Dropout, torch.nn.Identity):
        return False  # what stands there instead is a wrapper, or nothing
    if library_class(type(mine)) is type(theirs) or type(mine) is type(theirs):
        return bool(
            _overridden(type(mine), type(theirs))
            or "forward" in vars(mine)
            or pair.settings
            or _other_buffers(mine, theirs)
        )
    return True


def _overridden(mine: type, theirs: type) -> bool:
    """Say whether a class has methods of its own over the library's."""
    between = mine.__mro__[: mine.__mro__.index(theirs)]
    names = {name for each in between for name, v in vars(each).items() if callable(v)}
    return bool(names - {"__init__"})


def _other_buffers(mine: torch.nn.Module, theirs: torch.nn.Module) -> bool:
    """Say whether buffers differ that the library computes from the configuration."""
    own = dict(mine.named_buffers(recurse=False))
    for name, value in theirs.named_buffers(recurse=False):
        if value.is_meta or name not in own:
            continue
        here = own[name].detach().cpu().double()
        if here.shape != value.shape:
            return True
        if not torch.allclose(here, value.detach().double(), rtol=1e-2):
            return True  # in bfloat16 they are right to 0.4 %
    return False
