"""The shape of a subcommand of ``%ftlab``: its arguments, and what it calls."""

import re
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from IPython.core.magic_arguments import MagicArgumentParser


class Text(str):
    """Text that a cell shows as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Call:
    """A subcommand that was typed: the shell, and its arguments."""

    shell: Any
    arguments: Namespace


@dataclass(frozen=True)
class Command:
    """One subcommand.

    Attributes
    ----------
    run
        Called with what was typed; what it returns is shown.
    arguments
        Positional arguments and options, as ``add_argument`` takes them.
    expression
        What the Python after the options means; it is kept as it was typed.
    """

    name: str
    help: str
    run: Callable[[Call], Any]
    arguments: tuple[tuple[tuple[str, ...], Mapping[str, Any]], ...] = ()
    expression: str = ""

    @property
    def parser(self) -> MagicArgumentParser:
        """The parser; errors become a ``UsageError``."""
        parser = MagicArgumentParser(
            prog=f"ftlab {self.name}", description=self.help, add_help=False
        )
        for names, settings in self.arguments:
            parser.add_argument(*names, **settings)
        if self.expression:
            parser.add_argument("expression", nargs="*", help=self.expression)
        return parser

    @property
    def options(self) -> list[str]:
        """The long options, for completion."""
        names = (name for names, _ in self.arguments for name in names)
        return [name for name in names if name.startswith("--")]

    def parse(self, line: str) -> Namespace:
        """Read what was typed after the subcommand."""
        rest = ""
        if self.expression:
            options = _OPTIONS.match(line)
            end = options.end() if options else 0
            line, rest = line[:end], line[end:].strip()
        arguments: Namespace = self.parser.parse_argstring(line)
        arguments.expression = rest
        return arguments


_OPTIONS = re.compile(
    r"""(?:\s*(?:(?:--run-dir|--name|-o)(?:\s+|=)(?:"[^"]*"|'[^']*'|\S+)|-\S+))*"""
)
