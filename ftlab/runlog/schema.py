"""Schema 1 of the run log: its version, its tables, what their columns mean."""

from collections.abc import Mapping

from ftlab.records.step import Column
from ftlab.records.step_time import PHASES, column_of

VERSION = 1
"""Raised by every change that an older ftlab could not read."""

STEP_COLUMNS: tuple[str, ...] = (
    "time",
    "loss",
    "grad_norm",
    "clip_norm",
    "clip_coefficient",
    "loss_scale",
    "skipped",
    "micro_batches",
    "trainer_step",
)
"""Columns of every step besides ``step`` and ``lr``, in order of `StepRecord`."""


def _table(*columns: tuple[str, str, str]) -> Mapping[str, Column]:
    return {name: Column(name, unit, meaning) for name, unit, meaning in columns}


STEP_MEANINGS = _table(
    ("step", "1", "Attempted optimizer steps, from 0, skipped ones included."),
    ("time", "s", "Unix time at which the update was over."),
    ("loss", "1", "Sum over micro-batches of what backward was called on."),
    ("grad_norm", "1", "Global L2 norm of the gradients, true scale, before clipping."),
    ("clip_norm", "1", "max_norm that was passed to clipping."),
    ("clip_coefficient", "1", "Factor that clipping applied; 1 is no effect."),
    ("loss_scale", "1", "The GradScaler's scale during the step."),
    ("skipped", "1", "True when the scaler skipped the update."),
    ("micro_batches", "1", "Backward passes in the step."),
    ("trainer_step", "1", "The trainer's own count of the step."),
    ("lr", "1", "Learning rate of each parameter group, in order."),
)
STEP_VALUES = _table(
    ("tokens", "tokens", "Tokens that are not padding."),
    ("padding", "tokens", "Padding tokens."),
    ("ignored", "tokens", "Labels equal to -100."),
    ("labels", "tokens", "Labels that count in the loss."),
    ("batch_size", "1", "Sequences in the step."),
    ("sequence", "tokens", "Length of the sequences."),
    ("seconds", "s", "Wall time of the step."),
    ("cpu_wait", "s", "Time that the training thread waited for a processor."),
    ("ftlab_seconds", "s", "What ftlab took of the training thread in the step."),
    ("light", "1", "1 in a step that was measured lightly to keep the budget."),
    ("tokens_per_second", "tokens/s", "Throughput without padding."),
    ("rss", "bytes", "Resident memory of the process."),
    ("cuda_allocated", "bytes", "CUDA memory in use by tensors."),
    ("cuda_reserved", "bytes", "CUDA memory held by the allocator."),
    ("cuda_peak", "bytes", "Largest cuda_allocated so far."),
    ("idle_bytes", "bytes", "Allocated before the first forward of a step."),
    ("forward_bytes", "bytes", "Allocated when its last backward begins."),
    ("backward_bytes", "bytes", "Allocated when its update begins."),
    ("update_bytes", "bytes", "Allocated after its update."),
    ("graph_cuts", "1", "Modules at which tensors lost their graph."),
    ("recomputed", "1", "Calls of modules within backward."),
    ("logit_max", "1", "Largest magnitude among the sampled logits."),
    ("logit_spread", "1", "Largest logit over the mean, mean over sampled positions."),
    ("entropy", "nats", "Entropy of the softmax, mean over sampled positions."),
    ("top_probability", "1", "Largest probability, mean over sampled positions."),
    ("vocabulary", "1", "Logits of one position: tokens or classes."),
    ("output_grad", "1", "Largest gradient where the loss meets the model."),
    ("rng_python", "1", "Digest of the state of Python's random."),
    ("rng_numpy", "1", "Digest of the state of numpy.random."),
    ("rng_torch", "1", "Digest of the state of torch's generator, CPU."),
    ("rng_cuda", "1", "Digest of the states of torch's generators, CUDA."),
    *((column_of(each), "s", f"Time of the step in: {each}.") for each in PHASES),
)
"""What the standard probes add to a step's row."""

TABLES: Mapping[str, Mapping[str, Column]] = {
    "tensors": _table(
        ("has_grad", "1", "1 when .grad was a tensor, 0 when it was None."),
        ("grad_l2", "1", "L2 norm of the accumulated gradient, true scale, unclipped."),
        ("grad_max", "1", "Largest absolute gradient; NaN and infinity propagate."),
        ("grad_l2_after", "1", "L2 norm after an unexplained change of the gradient."),
        ("weight_l2", "1", "L2 norm of the weights."),
        ("grad_zero_share", "1", "Share of gradient elements that are exactly 0."),
        ("update_l2", "1", "L2 norm of the update, scaled up from a sample."),
        ("stuck_share", "1", "Share of sampled weights that did not change."),
        ("still_share", "1", "Share with the value of `still_steps` steps ago."),
        ("still_steps", "steps", "How long ago `still_share` looks back."),
        ("moment1_l2", "1", "L2 norm of the optimizer's first moment."),
        ("moment2_min", "1", "Smallest element of the optimizer's second moment."),
        ("moment2_l2", "1", "L2 norm of the optimizer's second moment."),
        ("moment2_max", "1", "Largest element of the optimizer's second moment."),
        ("floor_share", "1", "Share of the second moment that is below 1e-10."),
        ("eps_share", "1", "Share of the second moment that eps outweighs."),
        ("decay_share", "1", "L2 norm of lr x weight decay x weight / update_l2."),
    ),
    "directions": _table(
        ("intruders", "1", "Directions among the ten largest that are new to the base.")
    ),
    "adapters": _table(
        ("a_l2", "1", "L2 norm of lora_A."),
        ("b_l2", "1", "L2 norm of lora_B."),
        ("ba_l2", "1", "Frobenius norm of scaling x B A."),
        ("base_l2", "1", "Frobenius norm of the base weight."),
        ("base_error", "1", "Expected share of it that 4 bits have lost."),
        ("ratio", "1", "ba_l2 / base_l2."),
        ("effective_rank", "1", "exp of the entropy of the singular values of B A."),
        ("scaling", "1", "The adapter's factor: alpha / r, or alpha / sqrt(r)."),
        ("magnitude_l2", "1", "L2 norm of DoRA's magnitude vector."),
        ("together_l2", "1", "Frobenius norm of the sum of all active updates."),
        ("rank_90", "1", "Directions that hold 90 % of B A's energy."),
        *(
            (f"beyond_{2**power}", "1", f"Share of the energy beyond rank {2**power}.")
            for power in range(10)
        ),
    ),
    "frozen": _table(
        ("delta_max", "1", "Largest change of a sampled element since first."),
        ("delta_share", "1", "Share of sampled elements that have changed."),
        ("mean_abs", "1", "Mean magnitude of the sample as it was."),
        ("cycles", "1", "Times that its layer was unmerged since."),
    ),
    "merges": _table(
        ("delta_l2", "1", "L2 norm of scaling x B A in the sampled rows."),
        ("arrived_l2", "1", "L2 norm of the weight's change in the same rows."),
        ("error_l2", "1", "L2 norm of the difference of both."),
    ),
    "activations": _table(
        ("act_rms", "1", "Root mean square of the module's output."),
        ("act_max", "1", "Largest absolute output."),
    ),
    "cuts": _table(("cut", "1", "1 where tensors lost their graph at this module.")),
    "losses": _table(
        ("loss_entropy", "nats", "Entropy of what the loss sees, of a sample."),
        ("token_loss", "1", "Mean loss of the same sample."),
        ("plain_loss", "1", "The same without the constant on the logits."),
        ("log_total", "1", "Magnitude of the log of a row's probabilities' sum."),
        ("input_loss", "1", "The same with the input's next tokens as labels."),
        ("label_before", "1", "Share of labels that are the token before."),
        ("label_same", "1", "Share of labels that are the token itself."),
        ("label_next", "1", "Share of labels that are the next token."),
        ("label_after", "1", "Share of labels that are the one after the next."),
        ("weightless", "1", "Share of labels whose class has a weight of 0."),
        ("off_unit", "1", "Of the vectors whose products are scores, from 1."),
        ("common_label", "1", "The label that counts most often."),
        ("common_share", "1", "Its share of the labels that count."),
        ("common_read", "1", "Share of the tokens read that are this one."),
        ("off_total", "1", "Of a divergence's probabilities' sums, from 1."),
    ),
    "samples": _table(
        ("ids", "1", "Digest of a row's ids without padding, 24 bits."),
        ("others", "1", "Digest of its labels, pictures and other inputs."),
    ),
    "recomputed": _table(
        ("difference", "1", "Relative, of the norms of an output and of it once more."),
    ),
}
"""The tables that the standard probes fill. Other tables may appear in a run."""

IDENTITY = _table(
    ("step", "1", "The step; in roll-ups the step at which the window begins."),
    ("id", "1", "The row's id; names.jsonl says what it is."),
)
LEDGER = _table(
    ("step", "1", "The step."),
    ("index", "1", "Position within the step."),
    ("op", "1", "What happened: forward, backward, clip, step, ..."),
    ("target", "1", "What it was called on."),
    ("detail", "1", "Arguments and measurements, as JSON."),
)
EVALUATIONS = _table(
    ("step", "1", "Optimizer steps before the evaluation."),
    ("time", "s", "Unix time of the evaluation."),
    ("metric", "1", "Name of the metric."),
    ("value", "1", "Its value."),
)
TRACE = _table(
    ("index", "1", "Position in the step's order of operations, from 0."),
    ("op", "1", "Full name of the operation, with its overload."),
    ("phase", "1", "forward, recompute, backward or optimizer."),
    ("module", "1", "Path of the innermost module; null outside of all."),
    ("module_class", "1", "Its class."),
    ("user_line", "1", "Innermost source line outside installed packages."),
    ("library_line", "1", "Innermost source line outside torch."),
    ("node", "1", "Autograd node of an operation in backward."),
    ("forward", "1", "Index of the operation that made the node; -1 if unknown."),
    ("parameter", "1", "In an optimizer's step: whose update it is, if one's."),
    ("parents", "1", "Operations it read from; below 0: -1 is the first source."),
    ("making", "1", "view, constant, uninitialised, or nothing special."),
    ("dtype", "1", "Of its most unusual result."),
    ("shape", "1", "Of its most unusual result."),
    ("low", "1", "Smallest value; null where there is none, or a NaN."),
    ("high", "1", "Largest value; null where there is none, or a NaN."),
    ("nans", "1", "Count of NaN; -1: some, not counted."),
    ("infs", "1", "Count of infinities; -1: some, not counted."),
)
"""Columns of a trace's ``ops.arrow``; see `ftlab.runlog.traces`."""
ROLLED: Mapping[str, str] = {
    "low": "Smallest finite value in the window.",
    "high": "Largest finite value in the window.",
    "mean": "Mean of the finite values in the window.",
    "nonfinite": "How many values were NaN or infinite.",
    "count": "How many values were measured.",
}
"""Columns of a roll-up, for each column of its table."""

OTHER_TABLES = frozenset({"steps", "ledger", "eval"})
"""Tables on disk that are no block tables."""
