"""The rule ADP060, combination-never-active.

## What it does
Finds adapters that were combined from others but never used, while the model was run
with a different adapter.

## Why is this bad?
`add_weighted_adapter` creates a new adapter but does not activate it. A following
evaluation measures the old adapter under the new one's name: the blend looks exactly
like one of its sources, and weights are chosen by numbers that have nothing to do with
them.

## Evidence
Reported when watching ends, for the last combination: forwards without a graph after
it, all of which ran other adapters, read of the layers at each. There is no threshold.
Quiet where the combination was active in any forward, where any call names it
(`set_adapter`, a merge, `delete_adapter`, `adapter_names=`), on a copy of the model
too, where a state dict was taken or anything was written after it (it may be in there),
where another one was combined (of it, perhaps), and where training went on. Measured
with peft 0.21.2, all eleven kinds of combination: the active adapter stays, and the
logits are those of before, bit for bit.
By hand: `model.active_adapters` after `add_weighted_adapter`.

## What to try
1. `model.set_adapter(name)` before the evaluation; `model.set_adapter(old)` after it.
2. For one call: `model(**batch, adapter_names=[name] * rows)`.

## Known problems
Calls of `generate`, and of the model under the PeftModel, are not seen as forwards:
they do not count here, nor is it known that `generate(adapter_names=...)` used the
combination. One whose factors are read by hand (`get_delta_weight`), or that is used
after watching has ended, is reported when the old adapter was looked at first.

## References
- huggingface/peft#1444 (the documentation lacked the call of `set_adapter`)
- peft 0.21.2: `tuners/lora/model.py` (`add_weighted_adapter`)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.saving import has_adapters, needs_model
from ftlab.rules.rule import Rule
from ftlab.rules.words import counted
from ftlab.runlog.run import Run


class CombinationNeverActive(Rule):
    """Finds combined adapters that the looks at the model have passed by."""

    code = "ADP060"
    name = "combination-never-active"
    since = "0.1.0"
    status = "preview"
    requires = (needs_model,)

    def applies(self, run: Run) -> bool:
        """Tell whether a combination was left unused."""
        return has_adapters(run) and (not run.facts.model or bool(_unused(run)))

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for the latest."""
        for entry in _unused(run)[-1:]:
            yield self._finding(entry)

    def _finding(self, entry: LedgerEntry) -> Finding:
        name, active = str(entry.detail["adapter"]), str(entry.detail["active"])
        forwards = int(entry.detail["forwards"])
        return self.finding(
            Severity.WARNING,
            f"step {entry.step}: adapter {name!r} was combined from others but never "
            f"used: {counted(forwards, 'forward')} after it ran {active!r}",
            cause="add_weighted_adapter creates an adapter but does not activate it: "
            f"{active!r} was measured instead.",
            fix=f"Call model.set_adapter({name!r}) before the model is evaluated.",
            places=[
                Place("call", "set_adapter"),
                Place("call", "add_weighted_adapter"),
                Place("config", "active_adapters"),
                Place("object", f"adapter {name}"),
            ],
            steps=(entry.step, entry.step),
            evidence={
                "adapter": name,
                "active": active,
                "forwards": forwards,
                "threshold": 0,
            },
            healthy="a combined adapter is activated, saved, merged or trained",
        )


def _unused(run: Run) -> list[LedgerEntry]:
    return [entry for entry in run.ledger if entry.op == "unused"]
