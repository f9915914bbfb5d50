"""The rule ADP001, adapter-stuck-at-zero.

## What it does
Finds LoRA pairs whose product B A is still exactly 0 after steps that should have moved
it, and says whether a factor is frozen, both are 0, or no gradient arrives.

## Why is this bad?
B A = 0 adds nothing: the tuned model behaves exactly like the base model. Loss,
learning rate and step count look normal, since the rest of the model keeps working.

## Evidence
`a_l2` and `b_l2` of each pair, measured before the update of a step, against the count
of *effective* steps before it: steps that the scaler did not skip and whose learning
rate was above 0 for the pair's parameter group. After the last measurement a factor
counts as still 0 while its gradient is exactly 0, `None`, or never asked for. A factor
that is 0 and frozen, and two that are 0, cannot move: for these no step is awaited.
Else 8 effective steps are needed. One is enough in theory: in healthy runs of LoRA,
rsLoRA and DoRA with AdamW and SGD, B was above 0 after the first effective step, in all
pairs. B = 0 at the start, warm-up from 0 and skipped steps add no effective step, so
they never count. An expert that got no token is excused while a counterpart in the same
layer moves.

By hand: `{n: float(p.norm()) for n, p in model.named_parameters() if "lora_B" in n}`.

## What to try
1. *frozen*: do not change `requires_grad` after get_peft_model, or match `lora_`.
2. *both zero*: reinitialize A (`reset_lora_parameters`, or kaiming_uniform_); with both
   0 each gradient is multiplied by the other factor, and neither can leave 0.
3. *no gradient*: see GRD003: the adapter is not in the graph, or its gradients were
   cleared before the optimizer saw them.
4. *zero gradient*: where it is already 0 at the loss, GRD003 says so; otherwise check
   the adapter's scaling and the output of the module.
5. *gradient, but no update*: see OPT001 and OPT002.

## Known problems
A pair that is not active is not judged. AdaLoRA and several experts in one pair are not
measured. Rank patterns that set a rank to 0 are not LoRA pairs.

## Known myths
"B = 0 at the start means that the adapter is dead": measured, in healthy runs of LoRA,
rsLoRA and DoRA B is above 0 after the first step; it is the rule for how LoRA starts.

## References
- Hu et al. 2021, LoRA, section 4.1 (B = 0 at the start)
- NovaSky-AI/SkyRL#852 (both factors 0 after a reset)
- huggingface/peft#793 (lora_B never updated)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.lora import needs_pairs
from ftlab.rules.reading.loss_gradient import zero_at_loss
from ftlab.rules.reading.needs import needs_rates
from ftlab.rules.reading.tensors import group_of, records_of, routed
from ftlab.rules.reading.updates import Effective, effective, skipped_steps
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, in_words

MIN_EFFECTIVE = 8
"""Effective steps after which a product of 0 is a fault."""

_REASONS = {
    "both-zero": (
        "A and B are both 0: the gradient of each is a product with the other, so "
        "neither can ever leave 0.",
        "Reinitialize A: reset_lora_parameters(adapter, True) on the layer.",
    ),
    "frozen": (
        "The factor that is 0 has requires_grad=False, so it stays 0.",
        "Do not change requires_grad after get_peft_model, or match 'lora_' when "
        "freezing the base.",
    ),
    "no-gradient": (
        "The factor that is 0 had no gradient at any optimizer step. GRD003 says why, "
        "if the run shows it.",
        "Follow GRD003. Where it gives no reason, check model.active_adapters and what "
        "is detached above these layers.",
    ),
    "zero-gradient": (
        "The gradient of the factor that is 0 is exactly 0 although the other factor "
        "is not, and the model does get a gradient from the loss: something after the "
        "adapter multiplies by 0.",
        "Check the adapter's scaling (alpha / r) and the output of the module.",
    ),
    "zero-from-loss": (
        "The gradient of the factor that is 0 is exactly 0 although the other factor "
        "is not. Either it is already 0 at the loss, or something after the adapter "
        "multiplies by 0.",
        "Check first what the loss multiplies by (advantages, weights, a mask), then "
        "the adapter's scaling (alpha / r) and the output of the module.",
    ),
    "not-updated": (
        "Gradients arrive and the group's learning rate is above 0, but the optimizer "
        "does not change the factor.",
        "Build the optimizer from the model's current parameters: optimizer = AdamW(p "
        "for p in model.parameters() if p.requires_grad).",
    ),
}


_CERTAIN = frozenset({"frozen", "both-zero"})
"""Reasons that hold for all steps to come, so that none has to be awaited."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A pair whose product stayed 0.

    Attributes
    ----------
    reason
        A key of the reasons above.
    steps
        Effective steps that it stayed 0.
    param
        Name of the factor that is 0.
    """

    reason: str
    steps: int
    param: str


class AdapterStuckAtZero(Rule):
    """Finds adapters that add nothing."""

    code = "ADP001"
    status = "stable"
    requires = (needs_pairs("b_l2", "the norms of LoRA's A and B"), needs_rates)
    caused_by = ("ADP041", "ADP011", "ADP003", "ADP004", "GRD003", "OPT001", "OPT002")

    def check(self, run: Run) -> Results:
        """Yield one finding per reason."""
        zero = _zero_pairs(run)
        if not zero:
            return
        judge = _Judge(run)
        found = [stuck for pair, factor in zero if (stuck := judge.judge(pair, factor))]
        enough = [s for s in found if s.steps >= MIN_EFFECTIVE or s.reason in _CERTAIN]
        if found and not enough:
            yield self.cannot_tell(*_too_early(run, max(it.steps for it in found)))
            return
        pairs = len(run.names("adapters"))
        for reason in dict.fromkeys(stuck.reason for stuck in enough):
            members = [stuck for stuck in enough if stuck.reason == reason]
            yield self._finding(run, reason, members, pairs)

    def _finding(
        self, run: Run, reason: str, members: Sequence[Stuck], pairs: int
    ) -> Finding:
        cause, fix = _REASONS[reason]
        steps = run.steps.step
        first, last = int(steps[0]), int(steps[-1])
        count = min(stuck.steps for stuck in members)
        names = [stuck.param for stuck in members]
        since = f"after {counted(count, 'effective step')}" if count else "and cannot"
        return self.finding(
            Severity.ERROR if 2 * len(members) >= pairs else Severity.WARNING,
            f"{at_steps(first, last)}: {len(members)} of {counted(pairs, 'LoRA pair')} "
            f"{'adds' if len(members) == 1 else 'add'} nothing {since}; "
            f"exactly 0: {in_words(names)}",
            cause=cause,
            fix=fix,
            places={"param": names},
            steps=(first, last),
            reason=reason,
            evidence={
                "pairs": len(members),
                "effective_steps": count,
                "threshold": MIN_EFFECTIVE,
            },
            healthy="B is above 0 after the first step with a learning rate above 0",
        )


def _too_early(run: Run, steps: int) -> tuple[str, str]:
    """Say why too few steps were effective, and what would change that."""
    table = run.steps
    long = len(table) >= MIN_EFFECTIVE and not steps
    if long and bool((table["lr"] == 0).all()):
        return (
            f"the learning rate was 0 at all {len(table)} steps, so nothing could move",
            "a learning rate above 0: check watch.loss, the optimizer's lr and the "
            "schedule",
        )
    if long and bool(skipped_steps(run).all()):
        return (
            f"the scaler skipped all {len(table)} steps, so nothing could move",
            "a loss and gradients that are finite at some loss scale: see watch.loss",
        )
    groups = {group_of(name) for name in run.names().values() if name.meta.get("role")}
    if long and groups == {-1}:
        return (
            "the pairs are in no optimizer group, so no step could move them",
            "build the optimizer from the currently trainable parameters; OPT002 names "
            "the missing ones",
        )
    return (
        f"B A was 0 at its last measurement, after {counted(steps, 'effective step')} "
        f"(learning rate above 0, not skipped); {MIN_EFFECTIVE} are needed",
        "let it run to the next measurement beyond the warm-up, or measure more often: "
        "ftlab.watch(..., interval=4)",
    )


def _zero_pairs(run: Run) -> list[tuple[NameRecord, str]]:
    """Return active pairs that were 0 whenever measured, and the factor that was."""
    a, b = run.matrix("a_l2", "adapters"), run.matrix("b_l2", "adapters")
    a_zero = a.known.any(axis=0) & ~(a.known & (a.values != 0)).any(axis=0)
    b_zero = b.known.any(axis=0) & ~(b.known & (b.values != 0)).any(axis=0)
    if not (a_zero | b_zero).any():
        return []
    pairs = records_of(run, b.ids, "adapters")
    idle = routed(pairs, a_zero | b_zero)
    found = []
    for column in np.flatnonzero((a_zero | b_zero) & ~idle):
        if pairs[column].meta.get("active", True):
            both = a_zero[column] and b_zero[column]
            factor = "both" if both else "b" if b_zero[column] else "a"
            found.append((pairs[column], factor))
    return found


class _Judge:
    """Tells how long a pair was 0, and why."""

    def __init__(self, run: Run) -> None:
        self.names = run.names()
        self.from_loss = zero_at_loss(run) is not False
        self.steps: Effective = effective(run)
        has, l2 = run.matrix("has_grad"), run.matrix("grad_l2")
        self.columns = {row: index for index, row in enumerate(has.ids.tolist())}
        self.graded = (has.values > 0) & has.known
        self.pushed = self.graded
        if l2.shape == has.shape:
            self.pushed = self.graded & ~(l2.values == 0)
        self.grad_steps = has.steps
        measured = run.matrix("b_l2", "adapters").measured()
        self.measured = int(measured.steps[-1]) if len(measured.steps) else 0

    def judge(self, pair: NameRecord, factor: str) -> Stuck | None:
        """Return how the pair is stuck; ``None`` when nothing of it is trained."""
        a, b = int(pair.meta.get("a", -1)), int(pair.meta.get("b", -1))
        mine, other = (a, b) if factor == "a" else (b, a)
        if mine < 0 and other < 0:
            return None
        group = group_of(self.names[mine if mine in self.names else other])
        first = int(self.steps.step[0])
        count = self.steps.count(group, first, self.measured)
        before, after = self._pushed(mine, group)
        if after:  # it will have moved when it is measured next
            count = before
        else:
            count += self.steps.count(group, self.measured, 1 << 62)
        return Stuck(self._reason(mine, factor), count, self._name(mine, other, factor))

    def _pushed(self, row: int, group: int) -> tuple[int, bool]:
        """Count the updates it had a gradient for until it was measured, and since."""
        if row not in self.columns:
            return 0, False
        pushed = self.pushed[:, self.columns[row]]
        later = self.grad_steps >= self.measured
        effective = np.isin(self.grad_steps, self.steps.steps_of(group))
        return int((pushed & ~later & effective).sum()), bool(pushed[later].any())

    def _reason(self, row: int, factor: str) -> str:
        if row not in self.columns:
            return "frozen"
        column = self.columns[row]
        if self.pushed[:, column].any():
            return "not-updated"
        if factor == "both":
            return "both-zero"
        if not self.graded[:, column].any():
            return "no-gradient"
        return "zero-from-loss" if self.from_loss else "zero-gradient"

    def _name(self, row: int, other: int, factor: str) -> str:
        if row in self.names:
            return self.names[row].name
        # A frozen factor has no row of its own; PEFT names it like its partner.
        swap = ("B.", "A.") if factor == "a" else ("A.", "B.")
        partner = self.names[other].name
        for kind in ("lora_", "lora_embedding_"):
            partner = partner.replace(f".{kind}{swap[0]}", f".{kind}{swap[1]}")
        return partner
