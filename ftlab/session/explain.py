"""`ftlab.explain` and `ftlab.list_rules`: the rules' pages and their table."""

import inspect
import sys
from typing import TYPE_CHECKING

from ftlab.records.errors import UnknownNameError
from ftlab.rules.page import RulePage, page_of, parse_sections
from ftlab.rules.registry import all_rules, find_rule

if TYPE_CHECKING:
    import pandas as pd


def explain(code: str) -> RulePage:
    """Show the page of a rule or an experiment: evidence, thresholds, what to try.

    Parameters
    ----------
    code
        A code such as ``"GRD001"`` or ``"EXP001"``, or a name such as
        ``"vanishing-gradient"``.

    Raises
    ------
    UnknownNameError
        There is no such rule; the message lists near ones.

    Examples
    --------
    >>> import ftlab
    >>> ftlab.explain("GRD001").name
    'vanishing-gradient'
    """
    try:
        return page_of(find_rule(code))
    except UnknownNameError:
        page = _experiment(str(code).strip().lower())
        if page is None:
            raise
        return page


def _experiment(wanted: str) -> RulePage | None:
    """Return the page of an experiment; they are what loads torch here."""
    from ftlab.experiments.registry import all_experiments, all_stations

    for each in (*all_experiments(), *all_stations()):
        if wanted in (each.code.lower(), each.name):
            module = sys.modules[type(each).__module__]
            return RulePage(
                code=each.code,
                name=each.name,
                area="experiments",
                status="preview",
                since="0.1.0",
                sections=parse_sections(inspect.getdoc(module) or ""),
                needs=(_NEEDS[each.code[:3]],),
            )
    return None


_NEEDS = {
    "EXP": "a model and a batch of it, see `ftlab.prove`",
    "RTP": "a model, its tokenizer and prompts, see `ftlab.roundtrip`",
}


def list_rules() -> "pd.DataFrame":
    """Return a table of all rules.

    Returns
    -------
    pandas.DataFrame
        Indexed by ``code``: ``name``, ``area``, ``since``, ``status`` and ``what``.

    Examples
    --------
    >>> import ftlab
    >>> ftlab.list_rules().loc["GRD001", "name"]
    'vanishing-gradient'
    """
    import pandas as pd

    rows = [
        {
            "code": rule.code,
            "name": rule.name,
            "area": page_of(rule).area,
            "since": rule.since,
            "status": rule.status,
            "what": page_of(rule).summary,
        }
        for rule in all_rules()
    ]
    return pd.DataFrame(rows).set_index("code").sort_index()
