"""A line of the score for each fault, and for each healthy run."""

from ftlab.session.scoring.grade import Grade, Quiet

HEAD = (
    f"{'fault':<40} {'rule':<7} {'found':<6} {'cause':<6} {'place':<6} "
    f"{'steps':>5} {'s':>6}  remarks"
)
"""The names of the columns of `line`."""


def line(entry: Grade | Quiet) -> str:
    """Return the line of one fault, or of one healthy run."""
    return _fault_line(entry) if isinstance(entry, Grade) else _healthy_line(entry)


def _fault_line(grade: Grade) -> str:
    place = "yes" if grade.right_place else "later" if grade.any_place else "no"
    steps = "-" if grade.steps is None else str(grade.steps)
    return (
        f"{_name(grade.id, grade.seed):<40} {grade.code:<7} {_yes(grade.found):<6} "
        f"{_yes(grade.right_cause):<6} {place:<6} {steps:>5} {grade.seconds:6.2f}  "
        f"{_remarks(grade)}"
    ).rstrip()


def _remarks(grade: Grade) -> str:
    said = []
    if not grade.right_cause or not grade.right_place:
        heard = ", ".join(grade.codes) or "nothing"
        said.append(f"heard {heard}{f' at {grade.place}' if grade.place else ''}")
    if grade.wrong:
        said.append(f"wrong: {', '.join(grade.wrong)}")
    if grade.twin:
        said.append(f"alarm on the twin: {', '.join(grade.twin)}")
    return "; ".join(said)


def _healthy_line(quiet: Quiet) -> str:
    said = f"false alarm: {', '.join(quiet.alarms)}" if quiet.alarms else "quiet"
    name = f"healthy: {_name(quiet.id, quiet.seed)}"
    columns = f"{'':<7} {'':<6} {'':<6} {'':<6} {quiet.steps:>5}"
    return f"{name:<40} {columns} {quiet.seconds:6.2f}  {said}"


def _name(name: str, seed: int) -> str:
    return f"{name} (seed {seed})" if seed else name


def _yes(value: bool) -> str:
    return "yes" if value else "no"
