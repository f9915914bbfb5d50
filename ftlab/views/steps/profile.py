"""Where the time of profiled steps goes, and the commands of NVIDIA's tools."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ftlab.records.name_words import short_name
from ftlab.views.style import SERIES, count, number
from ftlab.views.view import View

SHOWN = 12
COLUMNS = ["forward", "backward", "elsewhere"]

_COMMANDS = """\
# the script watches with ftlab.watch(..., marks=True); of a notebook it is made by
# jupyter nbconvert --to script --output train NAME.ipynb
# Nsight Systems: the whole run
nsys profile --trace=cuda,nvtx,osrt --output=whole {script}
# Nsight Systems: one step
nsys profile --trace=cuda,nvtx,osrt --output=step --capture-range=nvtx \
--nvtx-capture='step {step}' --capture-range-end=stop \
--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0 {script}
# Nsight Compute: each kernel of one phase
ncu --set full --target-processes all --nvtx --nvtx-include 'step {step}/{phase}' \
--export kernels {script}
# Compute Sanitizer: accesses outside of what was allocated
PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck \
--target-processes all {script}"""


def nvidia_commands(step: int = 5, phase: str = "forward") -> str:
    """Return how to run this script, with ``ftlab.watch(..., marks=True)`` in it.

    Under Nsight Systems (the whole run, one step), Nsight Compute (a phase) and Compute
    Sanitizer. Options: docs.nvidia.com, nsight-systems/UserGuide (CLI profile),
    nsight-compute/NsightComputeCli (NVTX filtering), compute-sanitizer.
    """
    script = shlex.join([sys.executable, *sys.orig_argv[1:]])
    if "ipykernel" in script or sys.argv[0] in ("", "-c"):
        script = "python train.py"
    return _COMMANDS.format(script=script, step=step, phase=phase)


class Profile(NamedTuple):
    """Seconds of ``steps`` steps: ``total``, and of each part those of `COLUMNS`."""

    asked: int
    steps: int
    device: str
    total: float
    parts: Mapping[str, Sequence[float]]


class ProfileView(View[Profile]):
    """Seconds of all profiled steps by part; text and figure give ms of a step."""

    title = "Profile"
    commands = staticmethod(nvidia_commands)

    def __init__(self, read: Callable[[], Profile], stamp: Any = int) -> None:
        super().__init__()
        self._summarise = read  # type: ignore[method-assign]
        self._stamp = stamp  # type: ignore[method-assign]

    def _table(self, summary: Profile) -> Any:
        """Give each module and phase a row, the largest first."""
        import pandas as pd

        frame = pd.DataFrame.from_dict(summary.parts, orient="index", columns=COLUMNS)
        frame["share"] = frame.sum(axis=1) / summary.total
        frame.attrs |= {"device": summary.device, "total": summary.total}
        return frame.sort_values("share", ascending=False).rename_axis("part")

    def _rows(self, summary: Profile) -> Any:
        """Put together what repeats over layers; ms of a step."""
        frame = self._table(summary).reset_index()
        frame["part"] = frame["part"].map(short_name)
        alike = frame["part"].str.replace(r"(?<![^.])\d+(?![^.])", "*", regex=True)
        many = alike.map(alike.value_counts())
        folded = (alike + many.map(" ({})".format)).where(many > 1, frame["part"])
        rows = frame.groupby(folded).sum(numeric_only=True).rename_axis(None)
        rows[COLUMNS] *= 1e3 / summary.steps
        return rows.sort_values("share", ascending=False)

    def headline(self) -> str:
        """Say what was profiled."""
        it = self.summary
        of = "" if it.steps == it.asked else f" of the {it.asked} asked for"
        kind = "of GPU time" if it.device == "GPU" else "by the clock"
        each = f", {number(1e3 * it.total / (it.steps or 1))} ms {kind} each"
        return f"{count(it.steps, 'step')}{of}{each if it.steps else ''}"

    def _text(self, summary: Profile) -> str:
        said = f"{self.title}: {self.headline()}"
        if not summary.steps:
            return said
        rows = self._rows(summary)
        more = f"\nand {len(rows) - SHOWN} more, in .table()" * (len(rows) > SHOWN)
        rows["%"] = (100 * rows.pop("share")).map("{:.0f}".format)
        shown = rows[:SHOWN].to_string(float_format="{:.2f}".format)
        return f"{said}; below, ms of a step\n{shown}{more}"

    def draw_on(self, figure: Any, summary: Profile) -> None:
        """Draw a bar for each of the largest parts."""
        said = f"{self.title}: {self.headline()}"
        figure.suptitle(said, fontsize=9, x=0.01, ha="left")
        if summary.steps:
            rows, axis = self._rows(summary)[:SHOWN][::-1], figure.subplots()
            left = rows[COLUMNS].cumsum(axis=1) - rows[COLUMNS]
            for name, hue in zip(COLUMNS, SERIES, strict=False):
                axis.barh(
                    rows.index, rows[name], left=left[name], color=hue, label=name
                )
            axis.tick_params(labelsize=7)
            axis.set_xlabel("ms of a step", fontsize=8)
            axis.legend(fontsize=7, loc="lower right")
