"""The generated table of rules."""

from ftlab.rules import docs
from ftlab.rules.registry import all_rules


def test_the_readme_is_fresh():
    assert docs.main(["--check"]) == 0


def test_a_stale_readme_fails_and_is_left_alone(tmp_path, monkeypatch, capsys):
    stale = tmp_path / "README.md"
    stale.write_text("old")
    monkeypatch.setattr(docs, "README", stale)
    assert docs.main(["--check"]) == 1
    assert "python -m ftlab.rules.docs" in capsys.readouterr().err
    assert stale.read_text() == "old"
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0


def test_a_missing_readme_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(docs, "README", tmp_path / "README.md")
    assert docs.main(["--check"]) == 1


def test_every_rule_is_listed_once_with_a_file_that_exists():
    text = docs.readme()
    for rule in all_rules():
        (line,) = [line for line in text.splitlines() if f"| {rule.code} |" in line]
        file = line.partition("](")[2].partition(")")[0]
        assert (docs.README.parent / file).is_file()
