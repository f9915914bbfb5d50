"""The subcommands of ``%ftlab``: what each takes and which function it calls.

`COMMANDS` is the one list: parsing, help and completion are made from it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from IPython.core.error import UsageError

from ftlab.notebook.command import Call, Command, Text
from ftlab.notebook.namespace import debuggers, watches

_OUTPUT = re.compile(r"_\d+")
_UNDER_WAY = ("running", "paused")

WATCH_OPTIONS: tuple[tuple[tuple[str, ...], Mapping[str, Any]], ...] = (
    (
        ("-o", "--name"),
        {"default": "watch", "help": "variable that holds the watch (watch)"},
    ),
    (
        ("--run-dir",),
        {"metavar": "DIR", "help": "folder of the run log; must not exist"},
    ),
    (("--activations",), {"action": "store_true", "help": "measure activations too"}),
)


_WHAT = "trainer, or model, optimizer; without it the one trainer or model there is"


def _watch(call: Call) -> Any:
    from ftlab.session.autowatch import find_target
    from ftlab.session.watch import watch

    if call.arguments.expression:
        target = call.shell.ev(call.arguments.expression)
        targets = target if isinstance(target, tuple) else (target,)
        keywords: dict[str, Any] = {}
    else:
        target, keywords = find_target(call.shell.user_ns)
        targets = (target,)
    made = watch(
        *targets,
        **keywords,
        run_dir=call.arguments.run_dir,
        activations=call.arguments.activations,
    )
    call.shell.user_ns[call.arguments.name] = made
    return made


def _preflight(call: Call) -> Any:
    from ftlab.session.autowatch import find_target
    from ftlab.session.preflight.preflight import preflight
    from ftlab.session.preflight.reading import loaders_among

    if call.arguments.expression:
        return _as_call("preflight", call)
    target, keywords = find_target(call.shell.user_ns)
    loaders = loaders_among(call.shell.user_ns) if keywords else []
    if len(loaders) == 1:
        keywords["batches"] = loaders[0]
    return preflight(target, **keywords)


def _prove(call: Call) -> Any:
    from ftlab.session.autowatch import find_target
    from ftlab.session.preflight.reading import loaders_among
    from ftlab.session.prove import prove

    if call.arguments.expression:
        return _as_call("prove", call)
    target, found = find_target(call.shell.user_ns)
    wanted = {k: v for k, v in found.items() if k in ("model", "optimizer")}
    loaders = loaders_among(call.shell.user_ns) if wanted else []
    if len(loaders) == 1:
        wanted["batches"] = loaders[0]
    return prove(target, **wanted)


def _as_call(name: str, call: Call) -> Any:
    """Call a function of ftlab with what was typed: names of arguments may be in it."""
    return call.shell.ev(f"__import__('ftlab').{name}({call.arguments.expression})")


def _with_arguments(name: str, example: str) -> Callable[[Call], Any]:
    def run(call: Call) -> Any:
        if not call.arguments.expression:
            msg = f"%ftlab {name} takes arguments: %ftlab {name} {example}"
            raise UsageError(msg)
        return _as_call(name, call)

    return run


def _mirrored(name: str, help: str, example: str) -> Command:
    """Make the subcommand of a function that is called with what was typed."""
    run = _with_arguments(name, example)
    return Command(name, help, run, expression=f"arguments as for ftlab.{name}")


def _explain(call: Call) -> Any:
    from ftlab.session.explain import explain

    return explain(call.arguments.code)


def _rules(_: Call) -> Any:
    from ftlab.session.explain import list_rules

    return list_rules()


def _open(call: Call) -> Any:
    from ftlab.session.open_run import open_run

    return open_run(call.arguments.path.strip("\"'"), follow=call.arguments.follow)


def _findings(call: Call) -> Any:
    return _latest(call).findings


def _status(call: Call) -> Any:
    variables = call.shell.user_ns
    names = {id(v): k for k, v in variables.items() if not k.startswith("_")}
    lines = [
        f"{names.get(id(watch), '_')}: {watch!r}"
        + (f", log in {watch.run_dir}" if watch.run_dir else "")
        for watch in watches(variables)
    ]
    lines += [
        _of_debugger(each, _name_of(each, names, variables))
        for each in debuggers(variables)
        if id(each) in names or each.state in _UNDER_WAY
    ]
    return Text("\n".join(lines) or "Nothing is watched.")


def _name_of(
    debugger: Any, names: Mapping[int, str], variables: Mapping[str, Any]
) -> str:
    """Return a variable that holds ``debugger``; at worst an earlier output's."""
    outputs = (
        name
        for name, value in variables.items()
        if value is debugger and _OUTPUT.fullmatch(name)
    )
    return names.get(id(debugger)) or next(outputs, "")


def _of_debugger(debugger: Any, name: str) -> str:
    line = repr(debugger).partition("\n")[0]
    line = f"{name or '(no variable)'}: debugs {debugger.name}. {line}"
    if debugger.state != "paused":
        return line
    held = name or "ftlab.debug(...).active()"
    return f"{line} It waits for {held}.resume() or {held}.abort()."


def _detach(call: Call) -> Any:
    found = [watch for watch in watches(call.shell.user_ns) if watch.state != "ended"]
    for watch in found:
        watch.detach()
    return Text(f"Detached {len(found)} watch{'' if len(found) == 1 else 'es'}.")


def _help(call: Call) -> Any:
    if call.arguments.command:
        return Text(find_command(call.arguments.command).parser.format_help().rstrip())
    width = max(len(command.name) for command in COMMANDS)
    lines = [f"  {it.name:<{width}}  {it.help}" for it in COMMANDS]
    return Text("\n".join(["%ftlab COMMAND", "", *lines]))


def _latest(call: Call) -> Any:
    found = watches(call.shell.user_ns)
    if not found:
        msg = (
            "Nothing is watched yet. Type %ftlab watch trainer, or put %%ftlab watch "
            "in front of the cell that trains."
        )
        raise UsageError(msg)
    return found[-1]


COMMANDS = (
    Command("watch", "Watch a trainer or a model.", _watch, WATCH_OPTIONS, _WHAT),
    Command(
        "preflight",
        "Check data, model, optimizer and what else a run needs, before it begins.",
        _preflight,
        expression="arguments as for ftlab.preflight; without them the one trainer, "
        "or model, optimizer and DataLoader, there is",
    ),
    Command(
        "prove",
        "Try on a live step what must hold in every right set-up.",
        _prove,
        expression="arguments as for ftlab.prove; without them the one trainer, or "
        "model, optimizer and DataLoader, there is",
    ),
    _mirrored("adapters", "Show what a model's adapters are and do.", "model, batch"),
    _mirrored("compare", "Compare two checkpoints or adapters.", '"one", "other"'),
    _mirrored("diff", "Say where two executions part.", "a, b, batch"),
    _mirrored(
        "roundtrip",
        "Follow a model through saving, merging and serving.",
        "model, tokenizer, prompts",
    ),
    _mirrored("tokens", "Show rows as the model reads them.", "trainer"),
    _mirrored("masks", "Show who attends to whom.", "trainer"),
    _mirrored("model", "Show a model and what a Trainer sees of it.", "model"),
    _mirrored("data", "Look at every row of a dataset.", '"rows.jsonl", tokenizer'),
    _mirrored("fingerprint", "Show what a tokenizer is made of.", "tokenizer"),
    _mirrored("tokenizer_diff", "Compare two tokenizers.", "old, new, texts"),
    _mirrored("tokenizer_files", "Compare a tokenizer's files.", '"checkpoint"'),
    Command(
        "explain",
        "Show the page of a rule.",
        _explain,
        ((("code",), {"help": "code or name, such as GRD001"}),),
    ),
    Command("findings", "Show what the rules found in the latest watch.", _findings),
    Command("rules", "List all rules.", _rules),
    Command(
        "open",
        "Open the log of a run.",
        _open,
        (
            (("path",), {"help": "the run's folder"}),
            (
                ("--follow",),
                {"action": "store_true", "help": "read on while the run grows"},
            ),
        ),
    ),
    Command("status", "Say what is watched or debugged, and how it stands.", _status),
    Command("detach", "Take all watches off.", _detach),
    Command(
        "help",
        "Show this list, or the help of a subcommand.",
        _help,
        ((("command",), {"nargs": "?", "help": "a subcommand"}),),
    ),
)
"""All subcommands, in the order in which the help lists them."""


def find_command(name: str) -> Command:
    """Return the subcommand called ``name``; unknown ones are a `UsageError`."""
    for command in COMMANDS:
        if command.name == name:
            return command
    known = ", ".join(command.name for command in COMMANDS)
    msg = f"%ftlab has no subcommand {name!r}; there are {known}."
    raise UsageError(msg)
