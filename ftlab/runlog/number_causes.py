"""Why losses or gradients of the same samples differ between two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlab.runlog.run_comparison import DRAWN, LOSS, Parting
from ftlab.runlog.run_generators import first_training, generators_apart, listed
from ftlab.runlog.setting_differences import other_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ftlab.runlog.run import Run

SHOWN = 4
"""Settings that a sentence names."""


def causes_of_numbers(left: Run, right: Run, found: Parting) -> Iterator[str]:
    """Yield what the first difference may hang on, the likeliest first.

    Examples
    --------
    >>> from ftlab.runlog.number_causes import causes_of_numbers
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.runlog.run_comparison import DRAWN, Parting
    >>> next(causes_of_numbers(Run(), Run(), Parting(DRAWN["rng_torch"], 3)))
    'something draws from it in one run and not in the other'
    """
    if found.what in DRAWN.values():
        yield "something draws from it in one run and not in the other"
    yield from generators_apart(left, right, found.step)
    if _weights(left, right, found.step):
        yield "the weights are others: another start, or another checkpoint"
    if settings := other_settings(left, right):
        yield "settings differ: " + "; ".join(settings[:SHOWN])
    versions = [_versions(run) for run in (left, right)]
    names = [n for n in versions[0] if versions[1].get(n) != versions[0][n]]
    if names:
        yield f"versions differ: {listed(sorted(names))}"
    if found.what == LOSS and found.step > left.steps.step.min():
        yield (
            f"loss and gradients of step {found.step - 1} were the same, so its update "
            "was another: clipping, the optimizer, or kernels that are not "
            "deterministic"
        )
    yield (
        "samples, random numbers and versions are the same: kernels that are not "
        "deterministic, other weights, or other code"
        + ("; or what another process was fed" if _processes(left) > 1 else "")
    )


def _processes(run: Run) -> int:
    return int(first_training(run).get("world_size", 1))


def _versions(run: Run) -> Mapping[str, str]:
    return dict(run.facts.versions)


def _weights(left: Run, right: Run, step: int) -> bool:
    """Tell whether norms of weights differ where both were first measured.

    Later ones differ because of updates, which only a start up to a step rules out.
    """
    found = []
    for run in (left, right):
        if "weight_l2" not in run.columns():
            return False
        names = run.names()
        matrix = run.matrix("weight_l2", stop=step + 1).measured()
        found.append(
            {
                (int(at), names[number].name): value
                for at, line in zip(matrix.steps, matrix.values, strict=True)
                for number, value in zip(matrix.ids.tolist(), line, strict=True)
            }
        )
    both = found[0].keys() & found[1].keys()
    first = min((at for at, _ in both), default=0)
    return any(found[0][e] != found[1][e] for e in both if e[0] == first)
