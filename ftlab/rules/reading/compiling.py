"""What rules on compilation read of a run."""

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.rule import Run, needs_facts

WATCHED = needs_facts("model", "facts of the model", "ftlab.watch(model, optimizer)")


def compiles(run: Run) -> bool:
    """Tell whether something of the model is compiled, or its facts are not known."""
    return not run.facts.model or bool(run.facts.model.get("compilation"))


def noted(run: Run, kind: str) -> list[NameRecord]:
    """Return the model's frames that are not compiled for such a reason."""
    records = run.names("compilations").values()
    return [record for record in records if text_of(record, "kind") == kind]
