"""The rule MOD022, recompiled-until-the-limit.

## What it does
Finds frames of the model that were recompiled until Dynamo gave up.

## Why is this bad?
Compiling takes longer than many steps. After the limit, whatever matches none of the
existing graphs runs eagerly, and only one line in the log says so.

## Evidence
What Dynamo records about each frame: the guard that caused the recompilation, and that
its limit was reached (`torch._dynamo.config.recompile_limit`, 8 by default;
`accumulated_recompile_limit`, 256). There is no threshold of our own: runs with two
shapes, dynamic shapes, or a graph for evaluation stay below torch's. The guard, and
the line that needs it, are those of the last time. Measured with torch 2.13: a module
that counts its calls in a Python integer gets 8 graphs in 8 steps, and none from then
on; with a tensor for a counter it is 1 graph.

## What to try
Depending on the guard:
1. A number on a module (`self.calls == 7`): keep it in a tensor (`register_buffer`), or
   change it outside of forward; `torch._dynamo.config.allow_unspec_int_on_nn_module`.
2. A size (`size mismatch`): `torch.compile(dynamic=True)`, or pad to few lengths.
3. The index of a block (`self.layer_idx == 3`): all blocks share one code. Compile the
   whole model, or raise the limit to their number.
By hand: `TORCH_LOGS=recompiles` prints every reason.

## Known problems
Blocks of one class that are compiled separately share one limit. The limit of frames
that are not a forward of the model's modules is not reported.

## References
- torch `_dynamo/convert_frame.py`, `_dynamo/cache_size.py`
- pytorch/pytorch#128319
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.compiling import WATCHED, compiles, noted
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run


class RecompiledUntilTheLimit(Rule):
    """Finds frames that are not compiled any more, having been so too often."""

    code = "MOD022"
    name = "recompiled-until-the-limit"
    since = "0.1.0"
    status = "preview"
    requires = (WATCHED,)

    def applies(self, run: Run) -> bool:
        """Leave out models of which nothing is compiled."""
        return compiles(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all frames."""
        given_up = noted(run, "limit")
        if not given_up:
            return
        names = [record.name for record in given_up]
        guard, line = text_of(given_up[0], "guard"), text_of(given_up[0], "line")
        step = min(record.since_step for record in given_up)
        where = f" ({line})" if line else ""
        yield self.finding(
            Severity.WARNING,
            f"step {step}: the recompile limit is reached in the forward of "
            f"{in_words(names)}, which runs eagerly from here on: {guard}{where}",
            cause=f"The guard {guard} failed again and again: it holds for one value "
            "only, and each other value needs its own graph.",
            fix="Keep changing values in a tensor or outside of forward, use dynamic "
            "shapes for sizes, or raise recompile_limit if there are few values.",
            places=[
                *(Place("module", name) for name in names),
                Place("call", "torch.compile"),
                Place("config", "recompile_limit"),
            ],
            steps=(step, step),
            evidence={"guard": guard, "line": line, "threshold": 0},
            healthy="few graphs, all of them within the first steps",
        )
