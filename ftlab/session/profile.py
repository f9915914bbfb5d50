"""`ftlab.profile`: some steps under torch's profiler, and whose time it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.probes.timing.marks import step_under_way
from ftlab.probes.timing.profiled import parts_of
from ftlab.probes.timing.step_times import StepTimes
from ftlab.records.errors import BadValueError
from ftlab.session.arguments import watchable
from ftlab.session.integrations.transformers import is_trainer
from ftlab.views.steps.profile import Profile, ProfileView


@contextmanager
def profile(target: Any, *, steps: int = 3, warmup: int = 2) -> Iterator[ProfileView]:
    """Profile ``steps`` optimizer steps after ``warmup`` ones; training goes on.

    Backward counts to the module whose forward made it, and so does what checkpoints
    compute again. It is the GPU's time where it is used. Parts add up to the total; on
    a CPU to 1e-9. ftlab's own work is in the phases in which it is done.

    Parameters
    ----------
    target
        A ``transformers.Trainer``, or the model of a loop.
    steps, warmup
        How many steps; anything but such numbers is a ``BadValueError``.

    Examples
    --------
    >>> import torch, ftlab
    >>> from ftlab.faults.builders.tiny import batches, llama
    >>> model = llama()
    >>> optimizer = torch.optim.AdamW(model.parameters())
    >>> with ftlab.profile(model, steps=2, warmup=1) as profiled:
    ...     for batch in batches(4):
    ...         model(**batch).loss.backward()
    ...         optimizer.step()
    >>> profiled.summary.steps
    2
    """
    for name, given, least in (("steps", steps, 1), ("warmup", warmup, 0)):
        if type(given) is not int or given < least:
            msg = f"{name}={given!r}: it is {least} or more: profile(model, {name}=2)."
            raise BadValueError(msg)
    if torch._C._autograd._profiler_enabled():  # noqa: SLF001  torch has no other
        msg = "torch.profiler runs already, and there is one at a time: leave it first."
        raise BadValueError(msg)
    model = watchable(target.model if is_trainer(target) else target, "profile")
    probe, traces = StepTimes(marks=True), list[Any]()
    marks, first = probe.marks, step_under_way()

    def read() -> Profile:
        done = range(first + warmup, marks.last)[:steps] if traces else ()
        events = traces[0].events() if done else ()
        names = {f"step {step}" for step in done}
        return Profile(steps, len(done), *parts_of(events, names, marks.modules))

    wanted = {"wait": 0, "warmup": warmup + 1, "active": steps, "repeat": 1}
    profiler = torch.profiler.profile(
        activities=torch.profiler.supported_activities(),
        schedule=torch.profiler.schedule(**wanted),
        on_trace_ready=traces.append,
    )
    marks.between = profiler.step
    recorder = Recorder(Subject(model), [probe], lambda _: None, first_step=first)
    with profiler, recorder:
        yield ProfileView(read, lambda: len(traces))
