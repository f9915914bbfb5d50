"""The rule GRD003, gradient-not-reaching.

## What it does
Counts the trainable tensors that received a gradient and says why the others did not,
as far as the run proves it.

## Why is this bad?
A tensor without a gradient never learns, and nothing fails: training goes on with the
rest, the loss falls more slowly, and the saved adapter is only half trained.

## Evidence
`has_grad` (was `.grad` a tensor?) and `grad_l2` (is it exactly 0?) of every trainable
tensor, at 2 steps at least and at *every* step of the window; and at 16 steps at least
when no reason is proven. Where a module was seen to cut the graph (its input or a part
of it is in the graph and its output is not; a reentrant checkpoint none of whose inputs
requires a gradient; a module called with gradients off in a forward that has them on),
one step is enough, and tensors that had gradients until then are found too. There is no
threshold on size. What counts as healthy:
- a tensor of a LoRA pair whose gradient is exactly 0 while its partner is 0 (the
  gradient of lora_A is B^T times something);
- the same of a hand-written pair: a matrix of whose module another one is exactly 0;
- an expert that got no token: a tensor with a counterpart of the same shape in the same
  layer, whose name differs only by a number, that did receive a gradient.
- a parameter that is replaced by another tensor while the model runs
  (`torch.func.functional_call`): that one is trained.

The reason is decided from the ledger (*zero-grad-before-step*, *step-before-backward*,
*no-backward*, *forward-without-grad*), from the modules at which the graph was cut
(*graph-cut*, *checkpoint-without-input-grad*), from the adapter layers' state
(*adapter-not-in-forward*), and from which modules were called in a traced step:
- *stale-graph*: the model is compiled, and its graph is reused without checking the
  parameters (`guard_filter_fn`, `skip_guard_eval_unsafe`): it was compiled before they
  were trainable;
- *offloaded*: they are on the meta device outside of the forward. accelerate's offload
  (a `device_map` with `cpu` or `disk`, `cpu_offload`, `disk_offload`) runs each forward
  on copies; the gradients go to those. By hand: `[n for n, p in
  model.named_parameters() if p.is_meta]`;
- *wrapper-bypassed*: the model was never called, but a module inside it was. LoRA sits
  in the layers and learns all the same; a prompt or prefix, which `PeftModel.forward`
  adds, does not;
- *model-not-called*: no module of the model was called at all;
- *loss-without-model*: the model ran, its output is in the graph, and no gradient came
  back;
- *module-not-called*, *module-bypassed*, *output-not-used*: the same of one module.
  The first and last need 16 steps, since another batch may use the module;
- *tower-not-called*: the same of a part outside of the blocks, several of whose blocks
  have adapters (an image encoder, trained on text alone). It is reported as info at
  once, and as a warning before 16 steps only where a Trainer has completed all of its
  own, with 16 rows or more;
- *weight-taken-directly*: a module was not called, and the module around it has the
  weight among what its output keeps for backward (`F.linear(x, layer.weight)`). Not
  seen where a copy is made first, as when three weights are put into one;
- *gradients-on-copies*: while the model ran, a different leaf tensor took the place of
  the parameter (by identity), and that one has a gradient: `functional_call` was given
  `state_dict()`. By hand: `model.state_dict()[name] is model.get_parameter(name)` is
  False;
- *weight-made-anew*: within the module a parameter was replaced during the forward by
  a new one, which stays and has a gradient (`self.weight = nn.Parameter(a @ b)`);
- *forward-of-another*: the model's `forward` was set on the instance and is bound to
  another object, whose parameters have gradients. By hand: `vars(model)["forward"]`;
- *hook-returns-nothing*: the module ran in a forward hook of another one, whose output
  is the same tensor as before its hooks;
- *backward-returns-none*: the node of a custom `torch.autograd.Function` was given a
  gradient and returned `None` for an input that needs one, and the graph before that
  input leads to the parameter. Looked at in the step after the one in which the
  gradient was missed; not in the graph of the loss after the model's output.

Gradients that are all exactly 0 are *loss-times-zero* where each path from the loss to
the model leads through a product with a number that is 0, in the graph of each backward
that was checked (64 nodes from the loss; steps 0 to 7, and each 16th): the loss is a
constant. Measured with DPO at `beta=0.0`: log 2 in all steps, 8 of 8 gradients 0, and
the product is the 8th node; a term of weight 0 beside others is not reported.

They are *zero-at-loss* where the gradient of the model's output was measured and is
exactly 0 too, over 8 steps at least: GRPO in which the rewards of each group are equal.
Measured with TRL 1.16.0: 8 of 8 gradients 0, and `frac_reward_zero_std` 1 in its log.

Then it is decided from facts (reentrant checkpointing without input gradients) and from
the pattern (the lowest layers only, one adapter only). Gradients that are exactly 0 are
explained by labels that are all -100 (*no-labels*) and by float16 without a GradScaler
(*float16-without-scaler*). Where nothing explains them, the finding says so
(*unknown*).
Measured: in a full fine-tune with one of two blocks on disk 9 of 21 tensors of a tiny
Llama have no gradient, the loss falls all the same, and nothing warns about it; with
`cpu_offload` it is all of them. LoRA on an offloaded layer of the base raises.
`ftlab.preflight` goes one step further for tensors that are in the graph but got no
gradient, or one of exactly 0, in its dry steps: it adds noise of the weights' own size
and repeats the step. A loss that changes by more than 1e-5 of itself depends on them
(measured: 2.5e-4 and more where a graph is cut, 0 for key biases, which cancel).
In healthy runs of LoRA, rsLoRA and DoRA (AdamW and SGD) all tensors, 28 of 28
with all linear layers, have a gradient from step 0 on, and none is exactly 0 from
step 1 on; at step 0 it is every lora_A.

## What to try
1. Follow the reason that the finding gives. By hand: `[n for n, p in
   model.named_parameters() if p.requires_grad and p.grad is None]` after a backward,
   and a forward hook that prints `output.requires_grad` of the blocks, or its own
   name, to see which modules are called.
2. If nothing trains at all: compare `model.print_trainable_parameters()` with what you
   expect; the order is quantise, prepare_model_for_kbit_training, get_peft_model,
   optimizer.
3. An unused pooler or head is harmless: freeze it, so that DDP does not wait for it.

## Known problems
Parameters that only some batches use (two tasks in turn) count when no step of the
window used them. Unused top-level modules are reported as *info*. A short trial on
mixed data that happens to contain no image is reported as *tower-not-called*.

## References
- huggingface/transformers#42489, #21381 (checkpointing without input gradients)
- pytorch/functorch#280, torch `Module.register_forward_hook` (copies; hooks)
- haotian-liu/LLaVA#1380, zjysteven/lmms-finetune#14 (adapters in the encoder)
- mlfoundations/open_clip#573 (`use_reentrant=False`)
- huggingface/accelerate#3770, #3785 (offloaded weights)
- huggingface/trl#4023 (a DPO loss of log 2 whose gradient is 0; its cause is not told)
- huggingface/trl#3926, huggingface/peft#102 (frozen by k-bit preparation)
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.needs import needs_gradients
from ftlab.rules.reading.outside import held_outside
from ftlab.rules.reading.tensors import params, records_of, routed
from ftlab.rules.reasons.flow import cuts_of
from ftlab.rules.reasons.idle_tower import KIND as TOWER, no_more_to_come
from ftlab.rules.reasons.missing import Missing, Reason
from ftlab.rules.reasons.reach import reason_of
from ftlab.rules.reasons.unreached import SEEN_LATE
from ftlab.rules.reasons.zero_factors import zero_beside_zero
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, in_words
from ftlab.runlog.matrix import Matrix

MIN_STEPS = 2
"""Steps at which a tensor must have been seen."""

UNPROVEN_STEPS = 16
"""Steps that it takes where no reason is proven: some batch may yet use the tensor."""

FEW = 0.1
"""Share of tensors up to which unused modules outside the blocks are only noted."""

Bools = NDArray[np.bool_]


class GradientNotReaching(Rule):
    """Finds trainable tensors that never receive a gradient."""

    code = "GRD003"
    status = "stable"
    requires = needs_gradients
    caused_by = (
        "ADP041",
        "ADP011",
        "ADP039",
        "ADP003",
        "ADP004",
        "ADP008",
        "OPT002",
        "DAT004",
    )

    def check(self, run: Run) -> Results:
        """Yield a finding per kind of absence: no gradient, and exactly zero."""
        has = run.matrix("has_grad")
        names = records_of(run, has.ids)
        seen = has.known.sum(axis=0) >= MIN_STEPS
        got = (has.values > 0) & has.known
        proven = [cut.step for cut in cuts_of(run) if cut.proven]
        since = min(proven, default=None)
        cut_off = _lost_since(since, has, got)
        if not (seen.any() or cut_off.any()):
            yield self.cannot_tell(
                f"fewer than {MIN_STEPS} steps were recorded",
                f"let it run for {MIN_STEPS} steps",
            )
            return
        elsewhere = held_outside(run)
        inside = np.array([name.name not in elsewhere for name in names], bool)
        never = (cut_off | (seen & ~got.any(axis=0))) & inside
        zero = seen & got.any(axis=0) & ~_moved(run, got)
        beside = zero_beside_zero(run, names, zero)
        if not zero.all() or beside.all():  # else it is 0 before it comes to a factor
            zero &= ~beside
        both = never | zero
        idle = routed(names, both)
        steps = has.steps[has.steps >= (since or 0)] if cut_off.any() else has.steps
        for none, mask in ((True, never & ~idle), (False, zero & ~idle)):
            finding = self._finding(run, steps, names, (mask, both), none=none)
            if finding is not None:
                yield finding

    def _finding(
        self,
        run: Run,
        steps: NDArray[np.int64],
        names: Sequence[NameRecord],
        masks: tuple[Bools, Bools],
        *,
        none: bool,
    ) -> Finding | None:
        mask, both = masks
        if not mask.any():
            return None
        lost = [name for name, is_lost in zip(names, mask, strict=True) if is_lost]
        reached = [name for name, gone in zip(names, both, strict=True) if not gone]
        reason = reason_of(run, Missing(none, lost, reached))
        severity = _severity(lost, len(names))
        if reason.kind in SEEN_LATE and len(steps) < UNPROVEN_STEPS:
            if reason.kind != TOWER:
                return None
            severity = Severity.WARNING if no_more_to_come(run) else Severity.INFO
        first, last = int(steps[0]), int(steps[-1])
        have = "has" if len(lost) == 1 else "have"
        how = f"{have} no gradient" if none else f"{have} a gradient of exactly 0"
        return self.finding(
            severity,
            f"{at_steps(first, last)}: {len(reached)} of {len(names)} trainable "
            f"tensors received a gradient; {len(lost)} {how}: "
            f"{in_words(name.name for name in lost)}",
            cause=reason.cause,
            fix=reason.fix,
            places=[*reason.places, *params(lost)],
            steps=(first, last),
            evidence=_evidence(reason, len(lost), len(reached), none=none),
            healthy="every trainable tensor has a gradient that is not 0",
        )


def _moved(run: Run, got: Bools) -> Bools:
    """Mark the tensors whose gradient was not exactly 0 at some step."""
    matrix = run.matrix("grad_l2")
    if matrix.values.shape != got.shape:
        return np.ones(got.shape[1], bool)
    return np.asarray((got & ~(matrix.values == 0)).any(axis=0))


def _lost_since(since: int | None, has: Matrix, got: Bools) -> Bools:
    """Mark the tensors that have had no gradient since the graph was seen to be cut."""
    if since is None:
        return np.zeros(got.shape[1], bool)
    later = has.steps >= since
    return np.asarray(has.known[later].any(axis=0) & ~got[later].any(axis=0))


def _severity(lost: Sequence[NameRecord], total: int) -> Severity:
    outside = not any(name.layer.rpartition(".")[2].isdigit() for name in lost)
    if outside and len(lost) <= FEW * total:
        return Severity.INFO
    return Severity.ERROR if len(lost) * 2 >= total else Severity.WARNING


def _evidence(
    reason: Reason, lost: int, reached: int, *, none: bool
) -> dict[str, float | int | str]:
    return {
        "reason": reason.kind,
        "without_gradient": lost,
        "with_gradient": reached,
        "grad": "None" if none else "exactly 0",
        "threshold": "a gradient at one step",
    }
