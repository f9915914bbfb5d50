"""The table of rules: every file in an area folder, by code and by name.

Adding a rule is adding a file; nothing has to be registered.
"""

import difflib
import functools
import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import get_args

from ftlab.records.errors import FtlabError, UnknownNameError
from ftlab.rules.rule import Area, Rule

AREAS: tuple[str, ...] = get_args(Area)
"""The folders that hold rules, in the order of the README."""

PREFIXES = {
    "data": "DAT",
    "model": "MOD",
    "optimizer": "OPT",
    "gradient": "GRD",
    "adapter": "ADP",
    "numeric": "NUM",
    "memory": "MEM",
    "ranks": "RNK",
    "environment": "ENV",
    "time": "TIM",
}
"""The first three letters of an area's codes."""

_TAKEN_OVER = {
    "ADP004": "ADP005",
    "ADP007": "ADP006",
    "ADP009": "ADP052",
    "ADP017": "ADP057",
    "ADP021": "ADP022 ADP061",
    "ADP024": "ADP056",
    "ADP027": "ADP046 ADP047",
    "ADP029": "ADP030",
    "ADP031": "ADP048",
    "ADP035": "ADP059",
    "ADP038": "ADP060",
    "ADP041": "ADP042",
    "ADP050": "ADP053",
    "DAT002": "DAT003 DAT010 DAT011",
    "DAT005": "DAT006 DAT012",
    "DAT007": "DAT044 DAT045 DAT050 DAT051",
    "DAT015": "DAT049",
    "DAT017": "DAT027",
    "DAT018": "DAT026 DAT032",
    "DAT020": "DAT021 DAT053",
    "DAT022": "DAT014 DAT019",
    "DAT023": "DAT024",
    "DAT025": "DAT041 DAT043 DAT052",
    "DAT028": "DAT090",
    "DAT029": "DAT008 DAT056 DAT083 DAT084",
    "DAT030": "DAT055",
    "DAT031": "DAT034 DAT035",
    "DAT036": "DAT037 DAT039",
    "DAT038": "DAT016 DAT033 DAT040",
    "DAT042": "DAT054",
    "DAT057": "DAT099",
    "DAT058": "DAT059 DAT068 DAT091",
    "DAT060": "DAT069 DAT098",
    "DAT061": "DAT062",
    "DAT063": "DAT064 DAT065",
    "DAT066": "DAT067 DAT096 DAT097",
    "DAT070": "DAT071 DAT072",
    "DAT073": "DAT074 DAT075 DAT076 DAT077 DAT078",
    "DAT080": "DAT081 DAT082",
    "GRD005": "GRD006 GRD007 OPT004",
    "GRD011": "GRD008 NUM005",
    "GRD013": "GRD012 GRD014",
    "MOD011": "MOD025",
    "MOD020": "MOD021 MOD022",
    "NUM018": "NUM019",
    "OPT011": "OPT010 OPT012 OPT028",
}
"""Codes of rules, and of those that they have taken over."""

RETIRED = {
    **{old: new for new, codes in _TAKEN_OVER.items() for old in codes.split()},
    "DAT092": "",  # secrets in texts
    "DAT100": "",  # answers moved by a row
    "DAT101": "",  # calculations in answers
}
"""Codes of rules that are no more, and the code that has taken over, if one has."""


def rule_modules() -> list[ModuleType]:
    """Import every rule file, area by area and in alphabetical order."""
    found = []
    for area in AREAS:
        package = importlib.import_module(f"ftlab.rules.{area}")
        names = sorted(item.name for item in pkgutil.iter_modules(package.__path__))
        found += [importlib.import_module(f"{package.__name__}.{n}") for n in names]
    return found


def rule_class(module: ModuleType) -> type[Rule]:
    """Return the one rule that a rule file defines."""
    classes = [
        value
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, Rule) and value.__module__ == module.__name__
    ]
    if len(classes) != 1:
        msg = (
            f"{module.__name__} defines {len(classes)} rules; a rule file defines "
            "exactly one. Move the others into files of their own."
        )
        raise FtlabError(msg)
    return classes[0]


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Return one instance of every rule, sorted by code."""
    found = [rule_class(module)() for module in rule_modules()]
    return tuple(sorted(found, key=lambda rule: rule.code))


def find_rule(code_or_name: str) -> Rule:
    """Return the rule with this code or name.

    Parameters
    ----------
    code_or_name
        ``"GRD001"`` or ``"vanishing-gradient"``, in any case.

    Examples
    --------
    >>> from ftlab.rules.registry import find_rule
    >>> find_rule("grd001").name
    'vanishing-gradient'
    >>> find_rule("vanishing-gradients")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.UnknownNameError: There is no rule 'vanishing-gradients'. \
Near: vanishing-gradient (GRD001)...
    """
    wanted = str(code_or_name).strip().lower()
    if wanted.upper() in RETIRED:
        return _instead_of(wanted.upper())
    table = {rule.code.lower(): rule for rule in all_rules()}
    table |= {rule.name.lower(): rule for rule in all_rules()}
    if wanted in table:
        return table[wanted]
    near = difflib.get_close_matches(wanted, table, n=3, cutoff=0.5)
    near_rules = dict.fromkeys(table[key] for key in near) or dict.fromkeys(all_rules())
    words = ", ".join(f"{rule.name} ({rule.code})" for rule in near_rules)
    msg = (
        f"There is no rule {code_or_name!r}. Near: {words}. "
        "ftlab.list_rules() shows all of them."
    )
    raise UnknownNameError(msg)


def _instead_of(code: str) -> Rule:
    """Return the rule that has taken over from one that is no more."""
    if RETIRED[code]:
        return find_rule(RETIRED[code])
    msg = (
        f"The rule {code} is retired: nothing is looked for under this code any more. "
        "ftlab.list_rules() has the rules that there are."
    )
    raise UnknownNameError(msg)
