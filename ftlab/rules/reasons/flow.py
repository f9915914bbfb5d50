"""Modules at which the graph was seen to be cut, as the probe `graph_flow` names them.

Only sick runs have such rows. That a run was looked at at all, and at which steps, the
steps' column ``graph_cuts`` says.
"""

from dataclasses import dataclass

from ftlab.records.finding import Place
from ftlab.records.name_words import short_name
from ftlab.rules.reading.tensors import text_of
from ftlab.runlog.run import Run

PACKED = ("Linear4bit", "LinearNF4", "LinearFP4")
"""Classes of bitsandbytes whose CPU kernel for inference has no backward."""


@dataclass(frozen=True, slots=True)
class MeasuredCut:
    """A module at which tensors lost their graph; see `graph.flow_calls.Cut`."""

    name: str
    kind: str
    op: str
    to: str
    module_class: str
    step: int

    @property
    def proven(self) -> bool:
        """Whether it is certain; tensors of another source may look like a cut."""
        return self.kind != "between" or bool(self.op)

    @property
    def place(self) -> Place:
        """The module."""
        return Place("module", self.name)


def looked_at(run: Run) -> bool:
    """Tell whether the modules were followed at some step."""
    table = run.steps
    return "graph_cuts" in table.columns and bool(table.known("graph_cuts").any())


def cuts_of(run: Run) -> list[MeasuredCut]:
    """Return the cuts of the window, in the order in which the model comes to them."""
    if "cut" not in run.columns("cuts"):
        return []
    matrix = run.matrix("cut", "cuts")
    names = run.names("cuts")
    found = []
    for row, column in zip(matrix.ids.tolist(), matrix.known.T, strict=True):
        if not column.any() or row not in names:
            continue
        record = names[row]
        found.append(
            MeasuredCut(
                record.name,
                text_of(record, "kind"),
                text_of(record, "op"),
                text_of(record, "to"),
                text_of(record, "class"),
                int(matrix.steps[column][0]),
            )
        )
    return sorted(found, key=lambda cut: cut.step)


def cause_of(cut: MeasuredCut) -> str:
    """Say what was seen at a module."""
    where = short_name(cut.name)
    if cut.kind == "checkpoint":
        return (
            f"A reentrant checkpoint runs {where}, and none of its inputs requires a "
            "gradient: its output has no graph."
        )
    if cut.kind == "no-grad":
        return (
            f"{where} was called with gradients switched off, in a forward that has "
            "them on."
        )
    if cut.kind == "hook":
        return (
            f"{where} returns a tensor in the graph, but one of its forward hooks "
            f"returns one without{_same(cut)}."
        )
    if cut.kind == "between":
        return (
            f"The output of {where} is in the graph, but the input of "
            f"{short_name(cut.to)} is not{_same(cut)}."
        )
    return (
        f"The output of {where} ({cut.module_class}) has no graph, although its inputs "
        f"have one{_same(cut)}."
    )


def fix_of(cut: MeasuredCut) -> str:
    """Say what to do about a cut."""
    where = short_name(cut.name)
    if cut.kind == "checkpoint":
        return (
            'Pass gradient_checkpointing_kwargs={"use_reentrant": False} (or '
            "use_reentrant=False to checkpoint itself), or call "
            "model.enable_input_require_grads(); with inputs_embeds, "
            "inputs_embeds.requires_grad_(True)."
        )
    if cut.kind == "no-grad":
        return f"Call {where} outside of torch.no_grad() / inference_mode()."
    if cut.kind == "hook":
        return f"Let the hook on {where} return None, and detach only what it keeps."
    if cut.module_class in PACKED:
        return (
            "Set support_avx512bf16_for_cpu = False on every Linear4bit before the "
            "first evaluation; reload the model, since packed weights stay packed."
        )
    return (
        f"Check how the output of {where} is used: pass on the tensor itself and "
        "detach only copies; no .data, .item(), numpy or no_grad on the way."
    )


def extra_places(cut: MeasuredCut) -> list[Place]:
    """Name the operation, setting or call besides the module."""
    if cut.kind == "checkpoint":
        return [Place("config", "use_reentrant")]
    if cut.kind == "no-grad":
        return [Place("call", "torch.no_grad")]
    if cut.module_class in PACKED:
        return [Place("op", "gemv_4bit"), Place("config", "packing_format_for_cpu")]
    ends = [Place("module", cut.to)] if cut.to else []
    return [*ends, *([Place("op", cut.op)] if cut.op else [])]


def _same(cut: MeasuredCut) -> str:
    return " (the same memory: .detach() or .data)" if cut.op == "detach" else ""
