"""The shape of a fault: what is broken, which rule must say so, and where."""

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from packaging.requirements import Requirement

from ftlab.faults.page import FaultPage
from ftlab.faults.variation import PLAIN, Family, Variation, varied
from ftlab.records.facts import Facts
from ftlab.records.kernel_news import without_kernel_news

StepFunction = Callable[[Any], float]
"""The user's loop body: batch -> loss."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A dataset as its user hands it to `ftlab.data`.

    Attributes
    ----------
    dataset, evaluation
        Rows, or the names of files.
    tokenizer
        Of the training; ``None`` for none.
    max_length
        Tokens behind which the training cuts rows off; ``None`` where it does not.
    """

    dataset: Any
    tokenizer: Any = None
    evaluation: Any = None
    max_length: int | None = None


@dataclass(slots=True)
class Case:
    """A run as its user has it: live objects and a loop body, or a trainer.

    Attributes
    ----------
    step
        One iteration of the user's loop, its bug included; ``None`` where nothing is
        trained, or a trainer trains.
    optimizer, scheduler, scaler, tokenizer
        What the user would hand to ftlab.
    batches
        Are gone through again and again.
    trainer
        A Trainer in place of a loop; it decides itself how many steps it makes.
    adapter
        The folder that the model's adapter was loaded from.
    trained_as
        Facts of the run that this adapter was trained in.
    afterwards
        What the user does when training is over: save, merge, evaluate.
    places
        The exact places of this build, where those of the fault depend on the model.
    rows
        The dataset that is looked at before anything is trained.
    prompts
        What the watch has answered every 8 steps.
    directions
        In how many layers the watch counts directions that the base has not.
    """

    model: torch.nn.Module
    optimizer: Any = None
    batches: Sequence[Any] = ()
    step: StepFunction | None = None
    scheduler: Any = None
    scaler: Any = None
    trainer: Any = None
    adapter: Path | None = None
    trained_as: Facts | None = None
    afterwards: Callable[[], object] | None = None
    places: tuple[str, ...] = ()
    rows: Rows | None = None
    tokenizer: Any = None
    prompts: Sequence[str] = ()
    directions: int = 0
    losses: list[float] = field(default_factory=list)

    def run(self, steps: int) -> list[float]:
        """Run the loop for some iterations; returns all losses so far."""
        if self.trainer is not None:
            self.losses.append(float(self.trainer.train().training_loss))
        if self.step is not None:
            for _ in range(steps):
                batch = self.batches[len(self.losses) % len(self.batches)]
                self.losses.append(self.step(batch))
        if self.afterwards is not None:
            self.afterwards()
        return self.losses


def _of_its_file(*_: Any) -> Case:
    msg = "Only what the registry has found in its file can be built."
    raise RuntimeError(msg)


@dataclass(frozen=True, slots=True, repr=False)
class Fault:
    """A fault and its healthy twin; shown, it is its page.

    Attributes
    ----------
    title
        What the user sees.
    code
        The rule that must find it.
    places
        Patterns (`fnmatch`) of which one must match the whole of a finding's place,
        such as ``"param *.lora_B.*"``.
    builder
        Makes the case; ``True`` builds the healthy twin. It is the ``build`` of the
        fault's own file unless another one is given.
    id
        As in ``ftlab.faults.load("lora-b-frozen")``; the registry takes it from the
        file's name.
    steps
        Iterations after which it must be found; most show in the first ones.
    evident
        The first step whose records hold the evidence; -1 where it is there before the
        first one. Where one step proves nothing (an order of calls must repeat, a loss
        must have left its level) it is the first step at which it does.
    also
        Codes of other rules that are right to say something too.
    silent
        Whether nothing is raised: the run goes on as if all were well.
    families
        Models that the fault can be built on; see `ftlab.faults.variation`.
    traincheck
        The error of TrainCheck's list (OSDI'25) that it re-creates, if it does.
    needs
        Packages without which it cannot be built, as ``pip install`` names them.
    cpu
        A feature of the processor without which it does not exist.

    Examples
    --------
    >>> import ftlab
    >>> fault = ftlab.faults.load("lora-b-frozen")
    >>> case = fault.build(fixed=False)
    >>> len(case.run(2))
    2
    >>> fault.fix
    'leave ``requires_grad`` alone after get_peft_model, or match ``lora_``.'
    """

    title: str
    code: str
    places: tuple[str, ...]
    builder: Callable[[bool], Case] = _of_its_file
    id: str = ""
    steps: int = 6
    evident: int = 0
    also: tuple[str, ...] = ()
    silent: bool = True
    families: tuple[Family, ...] = ("llama",)
    traincheck: str = ""
    needs: tuple[str, ...] = ()
    cpu: str = ""

    @property
    def possible(self) -> bool:
        """Whether this machine has what the fault needs."""
        able = not self.cpu or self.cpu in _cpu_features()
        return able and _are_installed(self.needs)

    @property
    def area(self) -> str:
        """The folder of `ftlab.faults` that the fault lives in."""
        return self.builder.__module__.split(".")[2]

    @property
    def page(self) -> str:
        """What happens, why, and the fix, in words."""
        return inspect.getdoc(sys.modules[self.builder.__module__]) or ""

    @property
    def symptom(self) -> str:
        """What the user sees."""
        return self._parts.symptom

    @property
    def cause(self) -> str:
        """What is wrong."""
        return self._parts.cause

    @property
    def fix(self) -> str:
        """What to do."""
        return self._parts.fix

    @property
    def source(self) -> str:
        """Where it was seen."""
        return self._parts.source

    @property
    def file(self) -> Path:
        """The file that builds it: worth reading."""
        return Path(inspect.getfile(self.builder))

    @property
    def _parts(self) -> FaultPage:
        return FaultPage.of(self.title, self.page)

    def __repr__(self) -> str:
        return self._parts.text(self._head)

    def _repr_markdown_(self) -> str:
        return self._parts.markdown(self._head)

    @property
    def _head(self) -> str:
        return f"{self.id} ({self.area}, found by {self.code})"

    def build(self, fixed: bool, variation: Variation = PLAIN) -> Case:
        """Build the faulty run, or its healthy twin, as in a process of its own."""
        _forget_graphs()
        with varied(variation), without_kernel_news():
            return self.builder(fixed)


@dataclass(frozen=True, slots=True)
class Healthy:
    """A healthy run that naive checks take for a sick one.

    Attributes
    ----------
    looks_like
        Codes of the rules that it could mislead.
    needs
        Packages that ftlab itself can do without, as ``pip install`` names them.
    """

    title: str
    looks_like: tuple[str, ...]
    builder: Callable[[], Case] = _of_its_file
    id: str = ""
    steps: int = 200
    needs: tuple[str, ...] = ()

    @property
    def possible(self) -> bool:
        """Whether this machine has what the run needs."""
        return _are_installed(self.needs)

    def build(self, variation: Variation = PLAIN) -> Case:
        """Build the run, as in a process of its own."""
        _forget_graphs()
        with varied(variation), without_kernel_news():
            return self.builder()


def _forget_graphs() -> None:
    """Make the graphs of earlier runs not count towards Dynamo's limit for this one."""
    if "torch._dynamo" in sys.modules:
        torch.compiler.reset()


def _are_installed(packages: Sequence[str]) -> bool:
    return all(_is_installed(Requirement(each)) for each in packages)


def _is_installed(wanted: Requirement) -> bool:
    try:
        found = version(wanted.name)
    except PackageNotFoundError:
        return False
    return wanted.specifier.contains(found, prereleases=True)


@functools.cache
def _cpu_features() -> frozenset[str]:
    """Read what the processor can do, where Linux tells."""
    path = Path("/proc/cpuinfo")
    if not path.is_file():
        return frozenset()
    return frozenset(path.read_text(encoding="utf-8").split())
