"""The command line: parse, call, show.

Commands import what they need when they run, so that ``ftlab --help`` and
``ftlab explain`` answer without loading torch.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ftlab._version import __version__
from ftlab.records.errors import FtlabError
from ftlab.records.full_disk import full_disk_named
from ftlab.records.printable import printable

app = typer.Typer(
    name="ftlab",
    help="The Jupyter-native interactive debugger for fine-tuning language models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

faults_app = typer.Typer(help="The gallery of faults: list, run and score them.")
app.add_typer(faults_app, name="faults", no_args_is_help=True)

FOUND = 1
"""Exit code of ``ftlab check`` when there is a warning or an error."""

UNREADABLE = 2
"""Exit code when something could not be read or was not understood."""


def main() -> None:
    """Run the command line; ``ftlab run`` ends as its script ends."""
    try:
        with full_disk_named():
            result = app(standalone_mode=False)
        # A script runs out here: within typer its Ctrl-C would be an Abort.
        result = result() if callable(result) else result
    except typer.Abort:
        result = 130
    except FtlabError as error:
        typer.echo("\n".join(map(printable, str(error).split("\n"))), err=True)
        result = UNREADABLE
    except Exception as error:
        if not hasattr(error, "show"):  # not a complaint about the command line
            raise
        error.show()
        result = UNREADABLE
    sys.exit(result)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"ftlab {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Leave the work to the commands."""


@app.command(
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True}
)
def run(  # noqa: PLR0917  typer takes options by their defaults
    script: Annotated[
        str, typer.Argument(help="The script, or the module after -m; not changed.")
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="The script's own arguments.")
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of the run log; must not exist.", metavar="DIR"),
    ] = None,
    activations: Annotated[
        bool, typer.Option("--activations", help="Measure activations too.")
    ] = False,
    module: Annotated[
        bool, typer.Option("-m", help="Run a module, as python -m does.")
    ] = False,
    pause: Annotated[
        bool,
        typer.Option(
            "--pause",
            help="Stop at the first NaN or Inf and open a prompt; without a terminal "
            "report it and end with exit code 3.",
        ),
    ] = False,
    on_anomaly: Annotated[
        str,
        typer.Option(help="With --pause: abort or resume, without asking."),
    ] = "",
    prove: Annotated[
        bool,
        typer.Option("--prove", help="Before it trains, try what must hold."),
    ] = False,
) -> Any:
    """Run a training script and watch it; its exit code stays its own.

    With --pause it is 3 when the script was aborted where its numbers broke.

    Or a module: ftlab run -m package.train ARGUMENTS.
    Under torchrun: torchrun --nproc-per-node 2 -m ftlab run train.py. Across machines,
    name a shared folder with --run-dir.
    """
    from ftlab.session.script import Script, run_script

    given = Script(
        script,
        tuple(arguments or ()),
        run_dir,
        activations,
        module,
        pause,
        on_anomaly,
        prove,
    )
    return lambda: run_script(given)


@app.command()
def check(
    run_dir: Annotated[Path, typer.Argument(help="The folder of a run log.")],
    baseline: Annotated[
        Path | None,
        typer.Option(help="Of save_baseline(), or another run.", metavar="FILE"),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="How far off it, as 'slow steps=3'.", metavar="NAME=FACTOR"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print findings as JSON.")
    ] = False,
) -> int:
    """Judge a run log: exit 0 when all is well, 1 on findings.

    1 also where it is worse than the baseline, or set up otherwise. Exit 2 when
    something could not be read or compared; what could be is judged all the same.
    """
    from ftlab.records.finding import Severity
    from ftlab.session.summary import print_verdict
    from ftlab.session.verdict import judge

    verdict = judge(run_dir, baseline, allow or ())
    if as_json:
        typer.echo(json.dumps(verdict.to_json(), indent=2, allow_nan=False))
    else:
        print_verdict(verdict, sys.stdout)
    held = None if verdict.held is None else verdict.held.verdict
    if verdict.left_out or held == "not comparable":
        return UNREADABLE
    bad = verdict.worst is not None and verdict.worst >= Severity.WARNING
    return FOUND if bad or held not in (None, "ok") else 0


@app.command()
def data(  # noqa: PLR0917  typer takes options by their defaults
    files: Annotated[
        list[Path],
        typer.Argument(
            help="JSON Lines, JSON, Parquet, Arrow, or folders of these.",
            metavar="FILE...",
        ),
    ],
    tokenizer: Annotated[
        str, typer.Option(help="Folder of the training's tokenizer.", metavar="DIR")
    ] = "",
    evaluation: Annotated[
        list[Path] | None,
        typer.Option(
            "--eval", help="Rows that the training must not hold.", metavar="FILE"
        ),
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option(help="Where the training cuts rows off.", min=1, metavar="TOKENS"),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(help="Write a copy without the faulty rows.", metavar="FILE"),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            help="With --write: leave rows with this fault out instead.",
            metavar="FAULT",
        ),
    ] = None,
    near: Annotated[
        bool, typer.Option(help="Look for rows that are almost the same.")
    ] = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was found as JSON.")
    ] = False,
) -> int:
    """Look at every row of a dataset: answers, roles, copies, encoding, lengths.

    Exit 0 when all is well, 1 on findings, 2 when unreadable, 130 when stopped by
    Ctrl-C, which reports what was read until then.
    """
    from ftlab.session.data_command import DataCommand, run_data

    return run_data(
        DataCommand(
            tuple(files),
            tokenizer,
            tuple(evaluation or ()),
            max_length,
            write,
            None if drop is None else tuple(drop),
            near,
            as_json,
        ),
        sys.stdout,
    )


@app.command()
def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all looks as JSON.")
    ] = False,
) -> int:
    """Look at the machine and its packages: exit 0 where nothing fails, else 1."""
    from ftlab.session.doctor import doctor as look

    found = look()
    text = json.dumps(found.to_json(), indent=2) if as_json else repr(found)
    typer.echo(text)
    return 0 if found.ok else FOUND


@app.command()
def explain(
    code: Annotated[str, typer.Argument(help="Code or name, such as GRD001.")],
) -> None:
    """Show the page of a rule."""
    from ftlab.session.explain import explain as page

    typer.echo(repr(page(code)))


@app.command()
def rules() -> None:
    """List all rules."""
    from ftlab.rules.registry import all_rules

    for rule in sorted(all_rules(), key=lambda each: each.code):
        typer.echo(f"{rule.code}  {rule.name}")


@app.command()
def demo() -> Any:
    """Watch a real fine-tune go wrong and see ftlab say why."""
    from ftlab.session.demo import main as play

    return play


@faults_app.command("list")
def list_faults(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the faults as JSON.")
    ] = False,
) -> None:
    """List the faults: id, the rule that finds it, and what the user sees."""
    from ftlab.session.gallery import faults_json, faults_text

    typer.echo(json.dumps(faults_json(), indent=2) if as_json else faults_text())


@faults_app.command("run")
def run_fault(
    fault: Annotated[str, typer.Argument(help="Its id, such as lora-b-frozen.")],
    fixed: Annotated[
        bool, typer.Option("--fixed", help="Run the healthy twin instead.")
    ] = False,
    steps: Annotated[
        int | None, typer.Option(help="Iterations of its loop.", min=1)
    ] = None,
) -> int:
    """Train one fault, watched, and print what is found.

    Exit 0 if all went as it should: its rule finds it, and nothing in its twin.
    """
    from ftlab.session.gallery import play

    return 0 if play(fault, sys.stdout, fixed=fixed, steps=steps) else FOUND


@faults_app.command("score")
def score_gallery(
    area: Annotated[
        str,
        typer.Option(help="Only this area, such as adapter, and what looks like it."),
    ] = "",
    seeds: Annotated[
        int, typer.Option(help="How often each is built, with other weights.", min=1)
    ] = 1,
    budget: Annotated[
        float | None,
        typer.Option(help="Share of a step's time that may be taken, such as 0.02."),
    ] = None,
    as_json: Annotated[
        Path | None,
        typer.Option("--json", help="Write the score into this file.", metavar="F"),
    ] = None,
) -> int:
    """Run all faults and healthy runs; exit 0 if all is found, and nothing else.

    Per fault: found, cause, place, optimizer steps until found, seconds; then recall,
    precision, accuracy of places, and false alarms.
    """
    from ftlab.session.gallery import print_score

    score = print_score(sys.stdout, area=area, seeds=seeds, budget=budget)
    if as_json is not None:
        as_json.write_text(json.dumps(score.to_json(), indent=2), encoding="utf-8")
    return 0 if score.perfect else FOUND
