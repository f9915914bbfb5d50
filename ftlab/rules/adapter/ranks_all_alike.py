"""The rule ADP051, ranks-all-alike.

## What it does
Finds LoRA adapters in which the product of every pair has rank 1, whatever r is, or a
quarter of r at most.

## Why is this bad?
Where all rows of A start with the same values, all columns of B get the same gradient,
and so do all rows of A: they stay identical. The adapter has the memory of rank r and
learns what rank 1 can learn; a larger r changes nothing.

## Evidence
`effective_rank` of every pair with r above 1, wherever the product is not 0. A finding
when it is at most 1.001 for all of an adapter's pairs, at 3 measured steps and more and
at every one. Measured on a tiny Llama, r 8, AdamW at 1e-2: with A filled with 0.02, and
with one row of A in all rows, 1.0000 for all pairs from step 1 to 40; drawn as usual
6.3 to 7.6; with one sample of two tokens per step 1 at step 1, 2 to 2.4 at step 2 and 5
to 6 at step 32.
The same where at most 1e-7 of the energy, the squared singular values, is beyond a
smaller rank, up to r / 4, at all of these steps, and r steps are over: each step alone
can add a direction. With 2 rows of A repeated to 8 it is 2e-16 at most. Of training in
which every row is another, 1e-4 and more are beyond r / 4 of r 8, 16 and 64 after 100
steps of AdamW or SGD, also where the weights of a teacher with an update of rank 1 are
what is to be learned: energy in few directions alone is no sign of a rank too large.
By hand: `torch.linalg.matrix_rank(layer.lora_A["default"].weight)` is 1, and `(a ==
a[:1]).all()` for this weight `a`.

## What to try
1. `torch.nn.init.kaiming_uniform_(lora_A, a=math.sqrt(5))`, as in PEFT, or a normal
   distribution; never `ones_`, `constant_` or `fill_`.
2. To increase r: initialize the new rows of A randomly and set the new columns of B to
   0, instead of repeating existing ones.

## Known problems
Ranks whose A and B are both 0 (an adapter padded to a larger r) can be intentional, and
are found where they are three quarters of r. One value in all of A is not
found under a LayerNorm: it takes the mean away, so that A x is 0 but for its rounding,
and what is learned of that has 1.02 to 1.07. Custom layers are not measured.

## References
- Hu et al. 2021, LoRA, section 4.1: A is drawn from a Gaussian
- ostris/ai-toolkit#724 (ranks added by an expansion that nothing tells apart or moves)
- huggingface/peft, `LoraLayer.reset_lora_parameters`
"""

from collections.abc import Sequence

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.lora import needs_pairs
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import counted, in_words
from ftlab.runlog.spectra import spectra_of

ALIKE = 1.001
"""Effective rank up to which a product is of rank 1; float32 leaves 1.0000."""

NOTHING = 1e-7
"""Share of the energy that is rounding."""

QUARTER = 4
"""What r is divided by, for the largest rank that counts as alike."""

MEASURED = 3
"""Measured steps with a product that is not 0: the first update may have rank 1."""


class RanksAllAlike(Rule):
    """Finds adapters that use one of their ranks."""

    code = "ADP051"
    status = "stable"
    requires = needs_pairs("effective_rank", "the effective rank of each LoRA pair")

    def check(self, run: Run) -> Results:
        """Yield one finding for each adapter."""
        matrix = run.matrix("effective_rank", "adapters").measured()
        pairs = records_of(run, matrix.ids, "adapters")
        adapters: dict[str, list[int]] = {}
        for column, pair in enumerate(pairs):
            if int(pair.meta.get("r", 0)) > 1:
                adapters.setdefault(text_of(pair, "adapter"), []).append(column)
        for adapter, columns in adapters.items():
            values = np.where(matrix.known, matrix.values, 0.0)[:, columns]
            there = values > 0
            used = [c for i, c in enumerate(columns) if there[:, i].any()]
            enough = there.sum(0)[there.any(0)] >= MEASURED
            if not used or not bool(enough.all()):
                continue
            rows = np.flatnonzero(there.any(1))
            steps = int(matrix.steps[rows[0]]), int(matrix.steps[rows[-1]])
            told = [pairs[c] for c in used]
            most = float(values.max())  # an effective rank is at most the rank
            few = QUARTER * most <= ALIKE * min(int(pair.meta["r"]) for pair in told)
            rank = 1 if most <= ALIKE else few and _rank(run, told, steps[1])
            if rank:
                yield self._finding(run, adapter, told, steps, rank)

    def _finding(
        self,
        run: Run,
        adapter: str,
        pairs: Sequence[NameRecord],
        steps: tuple[int, int],
        used: int,
    ) -> Finding:
        named = run.names()
        halves = [int(pair.meta.get(half, -1)) for half in ("a", "b") for pair in pairs]
        factors = [named[half].name for half in halves if half in named]
        rank = max(int(pair.meta["r"]) for pair in pairs)
        modules = [text_of(pair, "module") for pair in pairs]
        return self.warning(
            f"steps {steps[0]}-{steps[1]}: the product of all "
            f"{counted(len(pairs), 'pair')} of adapter {adapter} has rank {used}, "
            f"though r is {rank}: {in_words(modules)}",
            cause="All rows of A started with the same values (ones_, constant_, one "
            "row repeated), so all ranks always get the same gradients."
            if used == 1
            else f"Rows of A started as copies of {used} (or with B at 0, too), and "
            "copies always get the same gradients.",
            fix="Reinitialize A: torch.nn.init.kaiming_uniform_(lora_A, "
            "a=math.sqrt(5)).",
            places={"param": factors, "module": modules},
            steps=steps,
            evidence={"pairs": len(pairs), "r": rank, "used": used, "threshold": ALIKE},
            healthy="an effective rank well above 1 from the first steps on",
        )


def _rank(run: Run, pairs: Sequence[NameRecord], last: int) -> int:
    """Return the rank, of a quarter of r at most, beyond which there is nothing; 0."""
    spectra = spectra_of(run)
    ids = {pair.id for pair in pairs}
    columns = [at for at, pair in enumerate(spectra.pairs) if pair.id in ids]
    ranks = spectra.ranks[columns]
    if not len(ranks) or last < ranks.max():
        return 0
    for index, cut in enumerate(spectra.cuts):
        beyond = spectra.beyond[index][:, columns]
        if cut * QUARTER <= ranks.min() and bool(
            (np.nan_to_num(beyond) <= NOTHING).all()
        ):
            return cut
    return 0
