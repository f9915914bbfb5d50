"""Tab completion of ``%ftlab`` and ``%%ftlab``, in IPython and through the kernel."""

import re
from typing import Any

from IPython.core.completer import SimpleCompletion, context_matcher
from IPython.core.getipython import get_ipython

from ftlab.notebook.command import Command
from ftlab.notebook.commands import COMMANDS, WATCH_OPTIONS

_LINE = re.compile(r"^\s*(?P<percent>%%?)ftlab\s+(?P<typed>.*)$")


@context_matcher(identifier="ftlab")
def ftlab_matcher(context: Any) -> dict[str, Any]:
    """Complete subcommands, their options, and the codes of rules."""
    line = context.full_text.split("\n")[context.cursor_line]
    found = _LINE.match(line[: context.cursor_position])
    if found is None or (found["percent"] == "%%" and context.cursor_line > 0):
        return {"completions": [], "suppress": False}
    words = found["typed"].split()
    word = "" if not words or found["typed"].endswith(" ") else words.pop()
    offered = _cell(words) if found["percent"] == "%%" else _offered(words)
    matching = [each for each in offered if each.startswith(word)]
    return {
        "completions": [
            SimpleCompletion(text=_cut(each, word, context.token), type="param")
            for each in matching
        ],
        "suppress": bool(matching) and not _is_path(words, word),
    }


def _is_path(words: list[str], word: str) -> bool:
    """Tell whether the shell's own completion of file names may add to ours."""
    return words[:1] == ["open"] and not word.startswith("-")


def _cut(text: str, word: str, token: str) -> str:
    # IPython replaces only its own token, which ends at "-" or leaves it out.
    return text[len(word) - len(token) :] if word.endswith(token) else text


def _cell(words: list[str]) -> list[str]:
    if not words:
        return ["watch", "debug"]
    if words[0] == "debug":
        return ["--name"]
    return [name for names, _ in WATCH_OPTIONS for name in names if name[:2] == "--"]


def _offered(words: list[str]) -> list[str]:
    if not words:
        return [command.name for command in COMMANDS]
    command = next((it for it in COMMANDS if it.name == words[0]), None)
    if command is None:
        return []
    return [*command.options, *_values(command)]


def _values(command: Command) -> list[str]:
    if command.name == "help":
        return [each.name for each in COMMANDS]
    if command.name == "explain":
        from ftlab.rules.registry import all_rules

        return [text for rule in all_rules() for text in (rule.code, rule.name)]
    return _variables() if command.expression else []


def _variables() -> list[str]:
    """Name the user's variables; jedi does not look into lines of magics."""
    shell = get_ipython()
    names = () if shell is None else shell.user_ns
    return [name for name in names if not name.startswith("_")]
