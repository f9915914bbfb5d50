r"""The rule ADP012, target-without-match.

## What it does
Finds entries of an adapter's configuration that match nothing in the model: names in
`target_modules`, `target_parameters` and `modules_to_save`, indices in
`layers_to_transform`, keys of `rank_pattern` and `alpha_pattern`, and names in
`exclude_modules` that exclude nothing; regular expressions that are a part of names;
indices that PEFT compared with the numbers of experts instead of blocks; and IA3's
`feedforward_modules` that omit the feed-forward part.

## Why is this bad?
PEFT raises only when *nothing* matches. As long as one entry does, the others are
silently ignored: half of the layers have no adapter, a rank stays at its default, a
head is neither trained nor saved, and training just ends at a worse loss.

## Evidence
For every entry the number of modules that it matched, counted as PEFT matches it, and
the linear layers of the blocks that carry no adapter. There is no threshold: 0 matches.
An index, a pattern and a name in `modules_to_save` that match nothing are always wrong.
Lists of `target_modules` are often written for many models at once
("q_proj,v_proj,query_key_value,c_attn"), so there it is decided like this:
- no linear layer of the blocks is without an adapter: nothing is missing, quiet;
- the entry's role (attention input, attention output, feed-forward, by the names that
  models use) is carried out by a layer that has an adapter: only noted;
- else a warning: the role was asked for and got none, the entry is spelled nearly like
  a layer that has none, or nobody can tell what the entry was for. A regular expression
  is taken as one entry. An exclusion is reported when an adapted layer stands inside
  the module that it names, or when it matches nothing and is spelled nearly like
  layers that carry the adapter.
A regular expression must match whole names. Each of its alternatives (and an entry of a
list with signs of expressions in it, which PEFT takes as letters) is a warning when it
matches no name and is found *within* names: of linear layers without an adapter for
targets, of adapted ones for exclusions. Measured on a tiny Llama: `r".*q_proj|v_proj"`
adapts 2 layers of 4, and `exclude_modules=".*mlp"` excludes none of the 6 layers in the
mlp, both without a word. `\d` or `[0-9]` for the number of a block, where blocks from
10 on are left out, is a warning if at most half as many layers are missed as matched,
and else noted: the first ten of many may be meant. Noted, too, is a name in
`modules_to_save` that is the end of other names: `["norm"]` trains all 5 norms of two
blocks. An expression or a key that names a number is tried again with the number ended;
layers that it only finds as written are a warning, where others remain: measured on 12
blocks, `alpha_pattern={"layers.1.*": 32}` sets the alpha of blocks 1, 10 and 11.
Without `layers_pattern` PEFT takes the first number of a path that follows two names
(up to 0.19 the last one, so that it is an expert's at any depth).
Where the blocks are at the root (`layers.0.mlp.experts.1.up`) that is the expert's. A
finding when the numbers are those of a list whose entries hold linear layers alone, and
blocks carry the adapter that were not asked for: measured, `layers_to_transform=[1]`
adapts expert 1 of all 3 blocks. Towers and stages hold norms; they are left alone.
IA3's `feedforward_modules` may match nothing, be empty or name attention as well. They
are judged by the layers: one that narrows, of the feed-forward part by its name, and is
scaled at its output; one that makes queries, keys or values and is scaled at its input.
What PEFT does by default for the kind of model is left alone. Measured on a tiny Llama:
the vector of down_proj then has 64 elements in place of 128, and nothing is raised.
*only-unquantised*: a LoRA on every linear layer in floating point and on no quantised
one is what a list by class (`type(m) is nn.Linear`) leaves. A warning where those
layers stand within and outside of the blocks, or where the blocks are checkpointed and
nothing in them learns: no choice of a place gives either. Else it is noted:
`["lm_head"]` may be meant, and both end in the same state. Measured on a tiny Llama in
NF4: the class leaves 1 layer of 15.
By hand: `model.targeted_module_names`, `[n for n, m in base.named_modules() if
n.endswith("up_proj")]`, and `{n: type(m) for n, m in base.named_modules()}`.

## What to try
1. Print the names: `[n for n, m in base.named_modules() if isinstance(m, Linear)]`.
2. `target_modules="all-linear"` selects all linear layers of any model except its head.
3. A key of `rank_pattern` must match up to the *end* of the module's name; no `^`.
4. `exclude_modules=["vision_tower"]` compares ends of names: to exclude what is inside,
   use a regular expression, `r".*vision_tower.*"`.
5. Alternatives of an expression in one group: `r".*\.(q|v)_proj"`.
6. IA3: `feedforward_modules=["down_proj"]`, one of the target_modules.

## Known problems
A list for many models is info where its role is fulfilled, even if its author wanted
the one layer that is missing. Entries that PEFT adds itself (`classifier`, `score`,
`qa_outputs`) do not count while one of them matches.

## Known myths
"PEFT tells me when a target does not exist": measured on 0.21.2 with GPT-2, `["c_attn",
"q_proj", "v_proj", "up_proj"]` adapts 2 of 8 linear layers without a word; only a list
of which no entry matches raises. "The docstring's `^model.decoder...` works as key of
rank_pattern": measured on 0.21.2, `{"^q_proj": 4}` changes no layer.

## References
- huggingface/peft#1959, #3554, #3658 (targets that match nothing)
- huggingface/peft#3582 (rank_pattern and alpha_pattern that match nothing)
- dllm-reasoning/d1#6 (names of another model: a third of the adapter missing)
- huggingface/peft#2964 (expressions in a list), #1917 (modules_to_save by last letters)
- huggingface/peft#3016 (an expert's index taken for the layer's)
- huggingface/peft#507 (a plain lm_head beside layers of class Linear4bit)
- huggingface/peft#1070, huggingface/trl#895 (`scores` for `score`)
"""

from collections.abc import Mapping, Sequence

from ftlab.rules.reading.module_roles import role_of
from ftlab.rules.reading.wiring import (
    Described,
    adapters,
    count_of,
    names_of,
    needs_wiring,
    steps_of,
    wiring,
)
from ftlab.rules.reasons.cut_entries import Cut, cut_entries
from ftlab.rules.reasons.feed_forward_sides import FIELD, wrong_sides
from ftlab.rules.reasons.quantised_targets import only_plain
from ftlab.rules.reasons.target_verdicts import Verdict, judge
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import counted, in_words, listed

ADDED_BY_PEFT = frozenset({"classifier", "score", "qa_outputs"})
"""Names of heads that PEFT adds for a task, whether the model has them or not."""

_ALWAYS_WRONG = {
    "layers_to_transform": "an index of a layer that the targets do not have",
    "rank_pattern": "a key that matches no adapted layer: its rank is not used",
    "alpha_pattern": "a key that matches no adapted layer: its alpha is not used",
    "target_parameters": "a parameter that the model does not have",
    "modules_to_save": "a module that the model does not have: nothing is trained or "
    "saved for it",
}


class TargetWithoutMatch(Rule):
    """Finds what was asked for and is not there."""

    code = "ADP012"
    status = "stable"
    requires = needs_wiring

    def check(self, run: Run) -> Results:
        """Yield one finding per field of a configuration."""
        for name, described, _ in adapters(run):
            asked = described.get("asked") or {}
            for field, counts in asked.items():
                if field == "target_modules":
                    yield from self._targets(run, name, counts)
                elif field in _ALWAYS_WRONG:
                    yield from self._entries(run, name, field, counts)
            for cut in (*cut_entries(described), *only_plain(run, described)):
                yield self._cut(run, name, cut)
            yield from self._indices(run, name, described)
            yield from self._sides(run, name, described)

    def _entries(
        self, run: Run, adapter: str, field: str, counts: Mapping[str, int]
    ) -> Results:
        lost = [entry for entry, count in counts.items() if not count]
        if field == "modules_to_save" and any(counts.get(a) for a in ADDED_BY_PEFT):
            lost = [entry for entry in lost if entry not in ADDED_BY_PEFT]
        if not lost:
            return
        verdict = Verdict(Severity.WARNING, _ALWAYS_WRONG[field])
        yield self._finding(run, (adapter, field), lost, len(counts), verdict)

    def _targets(self, run: Run, adapter: str, counts: Mapping[str, int]) -> Results:
        lost = [entry for entry, count in counts.items() if not count]
        every = wiring(run).get("blocks") or ()
        blocks = [block for block in every if block["kind"] == "linear"]
        if len(blocks) < len(every):
            # The feed-forward part is experts: ADP013 says what is to be said of them.
            lost = [entry for entry in lost if role_of(entry) != "feed-forward"]
        bare = [block for block in blocks if block["adapted"] < block["count"]]
        if not lost or not bare:
            return
        judged = [judge(entry, blocks, bare) for entry in lost]
        worst = max(judged, key=lambda verdict: verdict.severity)
        missed = dict.fromkeys(name for each in judged for name in each.missed)
        verdict = Verdict(worst.severity, worst.why, tuple(missed))
        yield self._finding(
            run, (adapter, "target_modules"), lost, len(counts), verdict
        )

    def _finding(
        self,
        run: Run,
        where: tuple[str, str],
        lost: Sequence[str],
        asked: int,
        verdict: Verdict,
    ) -> Finding:
        adapter, field = where
        without = f"; without an adapter: {in_words(verdict.missed)}"
        match = "matches" if len(lost) == 1 else "match"
        return self.finding(
            verdict.severity,
            f"step {steps_of(run)[0]}: {len(lost)} of "
            f"{counted(asked, 'entry', 'entries')} in {field} of adapter {adapter} "
            f"{match} nothing: {listed(lost, 4)}"
            f"{without if verdict.missed else ''}",
            cause=f"{verdict.why[0].upper()}{verdict.why[1:]}. PEFT raises only when "
            "no entry at all matches.",
            fix="Use names from this model (named_modules), or "
            'target_modules="all-linear".'
            if field.startswith("target")
            else f"Correct {field} ({listed(lost, 4)}) with names from this model.",
            places={"config": field, "module": verdict.missed},
            steps=steps_of(run),
            reason=field,
            evidence={"without_match": len(lost), "asked": asked, "threshold": 0},
            healthy="every entry matches at least one module",
        )

    def _cut(self, run: Run, adapter: str, cut: Cut) -> Finding:
        return self.finding(
            cut.severity,
            f"step {steps_of(run)[0]}: adapter {adapter}, {cut.field}: {cut.count} "
            f"{cut.words}: {in_words(cut.names)}",
            cause=cut.cause,
            fix=cut.fix,
            places={"config": cut.field, "module": cut.names},
            steps=steps_of(run),
            reason=cut.reason,
            evidence={"layers": cut.count, "threshold": 0},
            healthy="every entry matches the layers that it names, and no others",
        )

    def _indices(self, run: Run, adapter: str, described: Described) -> Results:
        misread = described.get("misread") or {}
        if not misread:
            return
        outside, names = misread["outside"], names_of(misread["outside"])
        blocks, read = misread["blocks"], misread["read"]
        yield self.warning(
            f"step {steps_of(run)[0]}: {count_of(outside)} adapted layers of adapter "
            f"{adapter} are in blocks that layers_to_transform does not name: "
            f"{in_words(names)}",
            cause=f"PEFT compared the indices with the numbers in {read}, not in "
            f"{blocks}: it skips a list at the root, and before 0.20 all numbers of a "
            "path but the last.",
            fix=f'layers_pattern="{blocks.rpartition(".")[2]}" with '
            "layers_to_transform, or a regular expression as target_modules.",
            places={"config": "layers_to_transform", "module": names},
            steps=steps_of(run),
            reason="other-index",
            evidence={
                "outside": count_of(outside),
                "blocks": ",".join(map(str, misread["indices"])),
                "threshold": 0,
            },
            healthy="adapters are in the blocks that layers_to_transform names",
        )

    def _sides(self, run: Run, adapter: str, described: Described) -> Results:
        outside, inside = wrong_sides(described)
        if not (outside or inside):
            return
        layers = counted(len(outside) + len(inside), "layer")
        yield self.warning(
            f"step {steps_of(run)[0]}: adapter {adapter} scales {layers} on the wrong "
            f"side ({len(outside)} at the output, {len(inside)} at the input): "
            f"{in_words([*outside, *inside])}",
            cause="IA3 scales the layers that feedforward_modules names at their input "
            "and all others at their output. Only the last feed-forward layer belongs "
            "there, not keys and values.",
            fix=f"{FIELD}=[...] with only the last layer of the feed-forward part.",
            places={"config": FIELD, "module": [*outside, *inside]},
            steps=steps_of(run),
            reason=FIELD,
            evidence={
                "at_output": len(outside),
                "at_input": len(inside),
                "threshold": 0,
            },
            healthy="feedforward_modules names the last feed-forward layers, no other",
        )
