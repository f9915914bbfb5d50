"""``%ftlab`` in a real shell: subcommands, help and errors."""

import pytest
from IPython.core.error import UsageError

pytestmark = pytest.mark.ipython


@pytest.fixture
def ftlab_line(shell):
    shell.run_line_magic("load_ext", "ftlab")
    return lambda line: shell.run_line_magic("ftlab", line)


def test_help_lists_every_subcommand(ftlab_line):
    from ftlab.notebook.commands import COMMANDS

    shown = repr(ftlab_line(""))
    assert shown == repr(ftlab_line("help"))
    assert all(command.name in shown for command in COMMANDS)


def test_help_of_a_subcommand_shows_its_options(ftlab_line):
    shown = repr(ftlab_line("help watch"))
    assert "--run-dir DIR" in shown
    assert "expression" in shown


def test_question_mark_shows_help(shell, ftlab_line, capsys):
    shell.run_cell("%ftlab?")
    shell.run_cell("%%ftlab?")
    shown = capsys.readouterr().out
    assert "Watch training, read findings" in shown
    assert "Run an unchanged cell" in shown


def test_an_unknown_subcommand_is_one_line(shell, ftlab_line, capsys):
    with pytest.raises(UsageError, match="no subcommand 'wach'; there are watch,"):
        ftlab_line("wach")
    shell.run_cell("%ftlab wach")
    assert capsys.readouterr().err.startswith("UsageError: %ftlab has no subcommand")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("explain", "code"),
        ("explain GRD001 GRD002", "unrecognized arguments: GRD002"),
        ("open", "path"),
        ("watch --speed 3 model", "--speed"),
        ("findings all", "unrecognized arguments: all"),
        ("help wach", "no subcommand 'wach'"),
    ],
)
def test_bad_arguments_are_usage_errors(ftlab_line, line, words):
    with pytest.raises(UsageError) as caught:
        ftlab_line(line)
    assert words in str(caught.value)


def test_an_unknown_rule_is_a_usage_error_with_near_names(ftlab_line):
    with pytest.raises(UsageError, match="vanishing-gradient"):
        ftlab_line("explain vanishing-gradients")


def test_explain_returns_the_page(ftlab_line):
    assert ftlab_line("explain grd001").name == "vanishing-gradient"


def test_rules_returns_the_table(ftlab_line):
    assert "vanishing-gradient" in set(ftlab_line("rules")["name"])


def test_opening_what_is_no_run_is_a_usage_error(ftlab_line):
    with pytest.raises(UsageError, match="not the folder of a run"):
        ftlab_line("open nowhere")


def test_findings_without_a_watch_say_how_to_get_one(ftlab_line):
    with pytest.raises(UsageError, match="Nothing is watched yet"):
        ftlab_line("findings")


@pytest.fixture
def loop_variables(shell):
    import torch

    model = torch.nn.Linear(2, 1)
    shell.user_ns["model"] = model
    shell.user_ns["optimizer"] = torch.optim.SGD(model.parameters(), lr=0.1)
    return shell.user_ns


def test_preflight_takes_the_arguments_of_a_call(ftlab_line, loop_variables):
    import torch

    loop_variables["rows"] = [torch.ones(4, 2)]
    checklist = ftlab_line("preflight model, optimizer=optimizer, batches=rows")
    says = {item.name: item.says for item in checklist["data"]}
    assert says["a batch can be read"] == "the first batch holds float32[4, 2]"


def test_preflight_finds_model_optimizer_and_loader(ftlab_line, loop_variables):
    import torch

    loop_variables["loader"] = torch.utils.data.DataLoader(torch.ones(4, 2))
    checklist = ftlab_line("preflight")
    says = {item.name: item.says for item in checklist["data"]}
    assert says["a batch can be read"] == "the first batch holds float32[1, 2]"
    assert "SGD holds 2 tensors" in repr([item.says for item in checklist])


def test_preflight_without_anything_to_check_says_so(ftlab_line):
    with pytest.raises(UsageError, match="No variable holds a Trainer"):
        ftlab_line("preflight")


def test_functions_are_called_with_what_was_typed(shell, ftlab_line):
    shell.user_ns["rows"] = [{"prompt": "1?", "completion": ""}]
    report = ftlab_line("data rows, progress=False")
    assert report.rows("empty-answer").tolist() == [0]


@pytest.mark.parametrize("name", ["data", "tokens", "tokenizer_diff"])
def test_functions_without_arguments_say_what_to_type(ftlab_line, name):
    with pytest.raises(UsageError, match=f"takes arguments: %ftlab {name} "):
        ftlab_line(name)


def test_status_and_detach_without_a_watch(ftlab_line):
    assert repr(ftlab_line("status")) == "Nothing is watched."
    assert repr(ftlab_line("detach")) == "Detached 0 watches."


@pytest.mark.parametrize(
    ("line", "expression"),
    [
        ("model", "model"),
        ("--activations make( 'a  b' )", "make( 'a  b' )"),
        ("--run-dir 'my runs/a' model, optimizer", "model, optimizer"),
        ("-o mine x['-o']", "x['-o']"),
        ("", ""),
    ],
)
def test_an_expression_is_kept_as_typed(line, expression):
    from ftlab.notebook.commands import find_command

    assert find_command("watch").parse(line).expression == expression


def test_the_cell_magic_needs_its_subcommand(shell, ftlab_line):
    with pytest.raises(UsageError):
        shell.run_cell_magic("ftlab", "stare", "x = 1")
    assert "x" not in shell.user_ns


@pytest.fixture
def causal_variables(shell):
    from tests.experiments.set_ups import llama, padded

    shell.user_ns |= {"one": llama(), "other": llama(1), "batch": padded()}


def test_prove_takes_the_arguments_of_a_call(ftlab_line, causal_variables):
    proof = ftlab_line("prove one, batch=batch, only=['reported-loss', 'row-order']")
    assert [each.state for each in proof] == ["holds", "holds"]


def test_prove_without_anything_to_prove_says_so(ftlab_line):
    with pytest.raises(UsageError, match="No variable holds a Trainer"):
        ftlab_line("prove")


def test_diff_takes_the_arguments_of_a_call(ftlab_line, causal_variables):
    assert not ftlab_line("diff one, other, batch").equal
    with pytest.raises(UsageError, match="takes arguments: %ftlab diff "):
        ftlab_line("diff")


def test_explain_knows_experiments(ftlab_line):
    assert ftlab_line("explain exp001").name == "row-alone"
