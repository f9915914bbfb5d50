"""What a test may leave behind nothing of, and the comparison that finds it.

The fixture in `tests/conftest.py` takes a `Snapshot` before each test, watches torch's
hook handles while it runs, and fails it for every line of `leaks`. torch and
transformers are looked at only when something else has imported them.
"""

import contextlib
import gc
import os
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

SIGNALS = ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2")
CLASSES = {
    "torch": (
        "nn.Module",
        "optim.Optimizer",
        "optim.lr_scheduler.LRScheduler",
        "amp.GradScaler",
        "cuda.amp.GradScaler",
        "utils.data.DataLoader",
        "Tensor",
    ),
    "transformers": ("Trainer",),
    "accelerate": ("Accelerator",),
}
MODULES = {"torch": ("autograd", "nn.utils", "nn.utils.clip_grad", "amp", "optim")}
# Set by the libraries themselves, once, when a Trainer or a compiler starts, or when
# transformers imports scikit-learn.
FOREIGN_ENVIRONMENT = (
    "_TORCHINDUCTOR_",
    "PYTEST_CURRENT_TEST",
    "ACCELERATE_",
    "TORCHINDUCTOR_",
    "TRITON_",
    "KMP_",
)
FOREIGN_REBINDING = "torch._dynamo."
"""The compiler rebinds ``Module.__init__`` for good when it is first used."""
PATIENCE = 2.0
"""Seconds that a thread which has been told to end may take."""
NEW_MODULES, NEW_OBJECTS = 100, 20_000
"""Imports, and objects that tests keep, after which all are set aside again."""
_modules_set_aside = 0
_named_before: weakref.WeakSet[Any] = weakref.WeakSet()


@dataclass(frozen=True)
class Snapshot:
    """What the process looks like from outside at one moment."""

    attributes: dict[str, dict[str, Any]]
    hooks: dict[str, set[int]]
    modes: dict[str, Any]
    process: dict[str, Any]
    environment: dict[str, str]
    threads: set[threading.Thread]


def snapshot() -> Snapshot:
    """Look at the process."""
    return Snapshot(
        attributes=_attributes(),
        hooks=_global_hooks(),
        modes=_modes(),
        process=_process(),
        environment={
            name: value
            for name, value in os.environ.items()
            if not name.startswith(FOREIGN_ENVIRONMENT)
        },
        threads=set(threading.enumerate()),
    )


def leaks(before: Snapshot, after: Snapshot) -> list[str]:
    """Name everything that is there, gone or different since ``before``."""
    found = [
        f"{name}.{attribute} is rebound to {value!r}"
        for name, now in after.attributes.items()
        for attribute, value in _rebound(before.attributes.get(name, {}), now)
    ]
    for name, ids in after.hooks.items():
        found += [f"{name} holds a hook"] * len(ids - before.hooks.get(name, set()))
    for kind in ("modes", "process", "environment"):
        old, new = getattr(before, kind), getattr(after, kind)
        # What torch brings along when it is imported is not a change.
        names = old.keys() & new.keys() if kind == "modes" else old.keys() | new.keys()
        found += [
            f"{name} is {new.get(name)!r}, was {old.get(name)!r}"
            for name in sorted(names)
            if old.get(name) != new.get(name)
        ]
    found += [f"thread {t.name!r} is alive" for t in after.threads - before.threads]
    return found


def _rebound(then: dict[str, Any], now: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the functions that are others, and those of ours that are new."""
    if [*map(id, then.values())] == [*map(id, now.values())]:
        return
    for name, value in now.items():
        if not callable(value) or isinstance(value, type):
            continue
        if name not in then:
            if _is_ours(value):
                yield name, value
        elif then[name] is not value:
            module = getattr(value, "__module__", None) or ""
            if not module.startswith(FOREIGN_REBINDING):
                yield name, value


def finish_threads(before: Snapshot) -> None:
    """Give new threads that must not stay a moment to end by themselves."""
    for thread in set(threading.enumerate()) - before.threads:
        if _must_end(thread):
            thread.join(PATIENCE)


def unwanted(after: Snapshot) -> Snapshot:
    """Leave out threads that libraries keep: daemons, as tqdm's monitor is one."""
    kept = {thread for thread in after.threads if _must_end(thread)}
    return Snapshot(**{**vars(after), "threads": kept})


@dataclass
class HookWatch:
    """The hooks that ftlab put on live objects since `watching_hooks` began."""

    made: list[tuple[Any, Any, str]] = field(default_factory=list)

    def left(self) -> list[str]:
        """Name the hooks that are still on their object."""
        return [
            f"a hook that {place} registered is still there"
            for handle, hooks, place in self.made
            if hooks is not None and handle.id in hooks
        ]


@contextlib.contextmanager
def watching_hooks() -> Iterator[HookWatch]:
    """Note every hook handle that torch gives out to code of ftlab."""
    watch = HookWatch()
    torch = sys.modules.get("torch")
    if torch is None:
        yield watch
        return
    handle_type = torch.utils.hooks.RemovableHandle
    original = handle_type.__init__

    def noting(self, hooks, **options):
        original(self, hooks, **options)
        place = _caller_in_ftlab()
        if place:
            watch.made.append((self, self.hooks_dict_ref(), place))

    handle_type.__init__ = noting
    try:
        yield watch
    finally:
        handle_type.__init__ = original


def set_imports_aside() -> None:
    """Keep what imports have made out of `wrapped_instances`.

    torch and transformers make half a million objects, and each scan of them would
    take longer than most tests.
    """
    global _modules_set_aside
    if len(sys.modules) >= _modules_set_aside + NEW_MODULES:
        _set_aside()
        _modules_set_aside = len(sys.modules)


def _set_aside() -> None:
    gc.collect()
    gc.freeze()


DYNAMO_S = "_torchdynamo_orig_callable"
"""Where torch keeps what it has compiled: a forward of the gallery's own models."""


def wrapped_instances() -> list[str]:
    """Name the living objects of torch on which a method of ftlab stands.

    Each is named once, so that one test's leak does not fail the tests after it.
    """
    kinds = tuple(
        value
        for name, value in _named(CLASSES)
        if isinstance(value, type) and name != "torch.Tensor"
    )
    things = gc.get_objects() if kinds else []
    wanted = {kind for kind in set(map(type, things)) if issubclass(kind, kinds)}
    found = []
    for thing in things:
        if type(thing) not in wanted or thing in _named_before:
            continue
        held = {n: v for n, v in vars(thing).items() if n != DYNAMO_S}
        ours = [n for n, value in held.items() if _is_our_function(value)]
        if ours:
            _named_before.add(thing)
            found.append(f"{type(thing).__name__} has a rebound {', '.join(ours)}")
    if len(things) > NEW_OBJECTS:  # reports that tests share, and what they import
        del things
        _set_aside()
    return found


def _caller_in_ftlab() -> str:
    """Name the line of ftlab that registers a hook, not a library far down its stack.

    Training that the debugger runs has ftlab at the bottom of its stack.
    """
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("torch.", "contextlib")):
            # The gallery's cases hook their models as users do.
            ours = name.startswith("ftlab.") and not name.startswith("ftlab.faults.")
            return f"{name}:{frame.f_lineno}" if ours else ""
        frame = frame.f_back
    return ""


def _is_our_function(value: Any) -> bool:
    return isinstance(value, FunctionType | MethodType) and _is_ours(value)


def _is_ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").startswith("ftlab")


def _named(places: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, Any]]:
    for root, paths in places.items():
        for path in paths if root in sys.modules else ():
            value = sys.modules[root]
            for part in path.split("."):
                value = getattr(value, part, None)
            if value is not None:
                yield f"{root}.{path}", value


def _attributes() -> dict[str, dict[str, Any]]:
    # Optimizers' own classes wrap their `step` at the first instance; bases do not.
    places = [*_named(CLASSES), *_named(MODULES)]
    return {name: dict(vars(owner)) for name, owner in places}


def _global_hooks() -> dict[str, set[int]]:
    owners = ("torch.nn.modules.module", "torch.optim.optimizer")
    return {
        f"{owner}.{name}": set(value)
        for owner in owners
        if owner in sys.modules
        for name, value in vars(sys.modules[owner]).items()
        if name.startswith("_global_") and name.endswith("_hooks")
    }


def _modes() -> dict[str, Any]:
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    return {
        "torch grad mode": torch.is_grad_enabled(),
        "torch default dtype": torch.get_default_dtype(),
        "torch CPU autocast": torch.is_autocast_enabled("cpu"),
        "torch anomaly mode": torch.is_anomaly_enabled(),
        "torch dispatch modes": torch._C._len_torch_dispatch_stack(),
    }


def _process() -> dict[str, Any]:
    return {
        "working directory": os.getcwd(),  # noqa: PTH109  compared as text
        "sys.excepthook": sys.excepthook,
        "threading.excepthook": threading.excepthook,
        "trace function": sys.gettrace(),
        "profile function": sys.getprofile(),
        **{
            f"handler of {name}": signal.getsignal(getattr(signal, name))
            for name in SIGNALS
            if hasattr(signal, name)
        },
    }


def _must_end(thread: threading.Thread) -> bool:
    ours = thread.name.startswith("ftlab") or _is_ours(type(thread))
    target = getattr(thread, "_target", None)
    stays = thread.daemon or thread in _inductor_pool()
    return thread.is_alive() and (not stays or ours or _is_ours(target))


def _inductor_pool() -> set[threading.Thread]:
    """Return the threads that torch keeps to compile with, for the process's life."""
    module = sys.modules.get("torch._inductor.async_compile")
    pool = None if module is None else module.AsyncCompile.pool
    if pool is None or not pool.cache_info().currsize:
        return set()
    return set(pool()._threads)
