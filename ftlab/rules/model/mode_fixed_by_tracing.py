"""The rule MOD019, mode-fixed-by-tracing.

## What it does
Finds traced modules whose dropouts do not follow `train()` and `eval()`: they were
traced in the other mode.

## Why is this bad?
`torch.jit.trace` and `torch.fx.symbolic_trace` record what ran, and in which mode.
`training` is set as usual afterwards, but the graph does not read it: a part that was
traced in evaluation mode is trained without dropout and overfits, and one that was
traced in training mode applies dropout in every evaluation, and in production.

## Evidence
Each dropout in a module's graph has its probability and whether to drop as constants.
There is no threshold.
- *off-in-training*: a probability above 0, "do not drop", and the module says that it
  is in training mode at a training forward after which it has gradients.
- *on-in-evaluation*: a probability above 0, "drop", from a `Dropout` module, and the
  module says that it is in evaluation mode while the model is evaluated. A function may
  always drop on purpose, as in Monte Carlo dropout, and is not counted.

Modules without gradients (a frozen encoder), and those that stay in the mode they were
traced in, are ignored. Measured with torch 2.13, a `Dropout(0.5)` traced in evaluation
mode: `aten::dropout(x, 0.5, False)`, and two forwards after `train()` are equal to the
last bit.
By hand: `print(module.inlined_graph)`, or `module.code` of torch.fx.

## What to try
1. `torch.compile`: it makes a graph for each mode.
2. `torch.jit.script` instead of `trace`; its graph reads `training`.
3. Trace in training mode for training, and again in evaluation mode for use.

## Known problems
A dropout of 0 when tracing leaves no trace of what it was configured to be, and that of
attention (`scaled_dot_product_attention`) is recorded as 0 in evaluation mode: neither
is seen. Batch norms are not checked: fixed statistics are common. An exported program
(`torch.export`) is not checked: it raises when `train()` is called on it.

## References
- pytorch/pytorch#29177 (a traced module does the same in both modes)
- pytorch/pytorch#68190 (torch.fx records `training` as a constant)
"""

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_steps_if_recorded
from ftlab.rules.words import at_steps, counted, number

TABLE = "traced"

_SAID = {
    "off-in-training": "is in training mode, but {dropouts} (up to {p}) in its graph "
    "never drop",
    "on-in-evaluation": "is in evaluation mode, but {dropouts} (up to {p}) in its "
    "graph drop",
}

_TRACED_IN = {"off-in-training": "evaluation", "on-in-evaluation": "training"}


class ModeFixedByTracing(Rule):
    """Finds graphs with dropouts that do not follow the module's mode."""

    code = "MOD019"
    requires = needs_steps_if_recorded("traced_modules", "the modes of traced modules")

    def check(self, run: Run) -> Results:
        """Yield one finding per module and direction."""
        kinds = {"fixed_off": "off-in-training", "fixed_on": "on-in-evaluation"}
        for column, kind in kinds.items():
            if column not in run.columns(TABLE):
                continue
            counts = run.matrix(column, TABLE)
            for index, name in enumerate(records_of(run, counts.ids, TABLE)):
                rows = counts.known[:, index]
                if rows.any():
                    seen = counts.steps[rows]
                    steps = (int(seen[0]), int(seen[-1]))
                    dropouts = int(counts.values[rows, index].max())
                    yield self._finding(kind, name, dropouts, steps)

    def _finding(
        self, kind: str, name: NameRecord, dropouts: int, steps: tuple[int, int]
    ) -> Finding:
        said = _SAID[kind].format(
            dropouts=counted(dropouts, "dropout"),
            p=number(float(str(name.meta.get("p", 0.0)))),
        )
        return self.warning(
            f"{at_steps(*steps)}: {name.name} {said}",
            cause=f"It was traced in {_TRACED_IN[kind]} mode. Whether to drop is a "
            "constant in the graph: train() and eval() set an attribute that the graph "
            "does not read.",
            fix="Use torch.compile or torch.jit.script, which follow the mode, or "
            "trace the module in the mode it is used in.",
            places={"module": name.name, "call": "torch.jit.trace"},
            steps=steps,
            reason=kind,
            evidence={"dropouts": dropouts, "threshold": 0},
            healthy="dropout is on in training, and off in evaluation",
        )
