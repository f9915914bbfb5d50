"""A folder of a run that anything has happened to: shown, judged, or named."""

import re
import shutil
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import ftlab
from ftlab.cli import main
from ftlab.records.errors import BadValueError, DamageWarning, FtlabError
from ftlab.session.run_views import RunViews
from tests.replay.breakage import Setup
from tests.stress.mutations import mutate

GOLDEN = Path(__file__).parents[1] / "golden" / "schema-1"
SEEDS = range(96)
OBEYED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
VIEWS = [
    name
    for name, each in vars(RunViews).items()
    if isinstance(each, property) and name not in {"run", "dashboard"}
]
SECONDS = 30


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run with the trace of an anomaly, and one of an earlier ftlab."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    setup = Setup()
    with (
        ftlab.watch(setup.model, setup.optimizer, run_dir=folder),
        ftlab.debug(
            setup.step, setup.feed, model=setup.model, optimizer=setup.optimizer
        ) as dbg,
    ):
        dbg.run()
        dbg.resume()
    return [folder, GOLDEN]


@pytest.fixture(autouse=True)
def _bounded(recorded: list[Path]) -> Any:
    def late(*_: Any) -> None:
        raise TimeoutError(f"still busy after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def look(folder: Path, seed: int) -> str:
    """Look at everything; return all that was said."""
    said = []
    run = ftlab.open_run(folder)
    said.append(repr(run))
    for number, name in enumerate(VIEWS):
        try:
            view = getattr(run, name)
        except BadValueError as error:  # such as a run without a tokenizer
            said.append(str(error))
            continue
        said.append(repr(view))
        view.table()
        if number % 6 == seed % 6:
            view._repr_mimebundle_()
    if seed % 4 == 0:
        run._repr_mimebundle_()
    try:
        replay = run.replay()
        said += [repr(replay), repr(replay.culprit)]
        replay.step()
    except FtlabError as error:
        said.append(str(error))
    return "\n".join(said)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_damaged_folder_is_shown_or_named(
    recorded: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    seed: int,
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(recorded[seed % 2], folder)
    done = mutate(folder, seed)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            said = look(folder, seed)
        except FtlabError as error:
            said = str(error)
    damage = [e for e in told if issubclass(e.category, DamageWarning)]
    words = [str(each.message) for each in told]
    # A rule that cannot read what facts say is switched off, and says so.
    rules = sum(each.startswith("Rule ") for each in words)
    assert len(told) == len(damage) + rules, (done, words)
    said += "\n".join(words)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "argv", ["ftlab", "check", str(folder)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in {0, 1, 2}, done
    if told:
        assert ended.value.code == 2, (done, said)
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert not OBEYED.search(said + out + err), done
