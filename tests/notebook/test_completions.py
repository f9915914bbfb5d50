"""Tab completion, asked as IPython asks and as JupyterLab asks."""

import pytest
from IPython.core.completer import provisionalcompleter

pytestmark = pytest.mark.ipython


@pytest.fixture
def offered(shell):
    shell.run_line_magic("load_ext", "ftlab")

    def offer(line):
        with provisionalcompleter():
            found = shell.Completer.completions(line, len(line))
            return sorted(each.text for each in found)

    return offer


def test_subcommands_are_offered(offered):
    assert offered("%ftlab ") == sorted(
        [
            "watch",
            "preflight",
            "prove",
            "roundtrip",
            "adapters",
            "compare",
            "diff",
            "tokens",
            "masks",
            "model",
            "data",
            "fingerprint",
            "tokenizer_diff",
            "tokenizer_files",
            "explain",
            "findings",
            "rules",
            "open",
            "status",
            "detach",
            "help",
        ]
    )
    assert offered("%ftlab de") == ["detach"]


def test_options_are_offered(offered):
    assert "--run-dir" in offered("%ftlab watch --")
    assert offered("%ftlab watch --act") == ["--activations"]
    assert offered("%ftlab open runs/x --f") == ["--follow"]


def test_variables_are_offered_where_an_expression_may_stand(shell, offered):
    shell.user_ns["trainer_of_mine"] = 1
    assert offered("%ftlab watch trainer_of") == ["trainer_of_mine"]
    everything = offered("%ftlab watch ")
    assert "trainer_of_mine" in everything
    assert "--run-dir" in everything
    assert "trainer_of_mine" not in offered("%ftlab explain ")


def test_codes_and_names_of_rules_are_offered(offered):
    assert "GRD001" in offered("%ftlab explain GRD")
    assert "vanishing-gradient" in offered("%ftlab explain vanishing-g")


def test_the_cell_magic_offers_watch_and_its_options(offered):
    assert offered("%%ftlab w") == ["watch"]
    assert offered("%%ftlab watch --run") == ["--run-dir"]


def test_other_lines_are_left_alone(offered):
    assert "watch" not in offered("%ftlabs ")
    assert "watch" not in offered("x = 1; wat")
    assert "watch" not in offered("%time wat")


def test_the_kernel_completes_too(kernel):
    assert kernel.complete("%ftlab st") == ["status"]
    assert kernel.complete("%ftlab explain GRD001") == ["GRD001"]
    assert kernel.complete("%%ftlab watch --a") == ["--activations"]
