"""The rule MOD021, compilation-failed-silently.

## What it does
Finds models whose compilation raised an error that was suppressed.

## Why is this bad?
Each frame that fails runs eagerly from then on. Compilation is switched on, takes its
time, and brings nothing; the one warning in the log is easily lost.

## Evidence
What Dynamo records about each frame: how the attempt ended, and whether
`torch._dynamo.config.suppress_errors` was on. A frame counts that belongs to a forward
of the watched model and ended in an error of the compiler or the backend; graph breaks
do not count. There is no threshold. It is a warning where no frame of the model was
compiled, otherwise info. Measured with torch 2.13: with a backend that raises,
`counters["frames"]` shows 1 tried and 0 compiled, and training goes on.

## What to try
1. `torch._dynamo.config.suppress_errors = False`, and unset the environment variable
   `TORCHDYNAMO_SUPPRESS_ERRORS`: the error shows.
2. Fix it, or use a different backend: `torch.compile(model, backend="aot_eager")` needs
   no compiler.
3. Leave `torch.compile` out where it cannot work.
By hand: `torch._dynamo.utils.counters["frames"]`: `total` far above `ok`.

## Known problems
Failures before watching began are not known.

## References
- torch `_dynamo/convert_frame.py`, `ConvertFrame.__call__`
- pytorch/pytorch#107044 (`suppress_errors` swallows exceptions)
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.compiling import WATCHED, compiles, noted
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.rule import Rule
from ftlab.rules.words import counted
from ftlab.runlog.run import Run


class CompilationFailedSilently(Rule):
    """Finds frames that run eagerly because compiling them failed."""

    code = "MOD021"
    name = "compilation-failed-silently"
    since = "0.1.0"
    status = "preview"
    requires = (WATCHED,)

    def applies(self, run: Run) -> bool:
        """Leave out models of which nothing is compiled."""
        return compiles(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all frames."""
        failed = noted(run, "failed")
        if not failed:
            return
        compiled = 0
        if "compiled_frames" in run.steps.columns:
            compiled = int(np.nansum(run.steps["compiled_frames"]))
        count = sum(int(record.meta["frames"]) for record in failed)
        names = [record.name for record in failed]
        error, reason = text_of(failed[0], "error"), text_of(failed[0], "reason")
        step = failed[0].since_step
        yield self.finding(
            Severity.INFO if compiled else Severity.WARNING,
            f"step {step}: compiling {counted(count, 'frame')} of the model failed "
            f"({error}) and {compiled} succeeded, at {in_words(names)}; failed frames "
            "run eagerly",
            cause="torch._dynamo.config.suppress_errors is on: the error was written "
            f"to the log, and Python runs the code instead. It says: {reason}",
            fix="Set torch._dynamo.config.suppress_errors = False to see the error; "
            "fix it, or use a different backend.",
            places=[
                Place("config", "suppress_errors"),
                Place("call", "torch.compile"),
                *(Place("module", name) for name in names),
            ],
            steps=(step, step),
            evidence={"failed": count, "compiled": compiled, "threshold": 0},
            healthy="every frame is compiled, or its error is raised",
        )
