"""The files of a tokenizer in words: what each says, and what is read."""

from ftlab.records.finding import Finding
from ftlab.records.sizes import size
from ftlab.records.tokenizer_files import Agreement, FileState, Status, TokenizerFiles
from ftlab.views.style import count
from ftlab.views.tokenizers.told import Line, Told, ToldView
from ftlab.views.view import Rows

MARKS: dict[Status, str] = {
    "agrees": "=",
    "noted": "",
    "differs": "≠",
    "fails": "x",
    "not checked": "?",
}


class TokenizerFilesView(ToldView):
    """Whether the files of a tokenizer agree with each other.

    ``table()`` has a row for each subject and file.

    Parameters
    ----------
    files
        What was read and compared.
    findings
        What rules say of it.

    Examples
    --------
    >>> from ftlab.records.tokenizer_files import FileState, TokenizerFiles
    >>> from ftlab.views.tokenizers.tokenizer_files import TokenizerFilesView
    >>> state = FileState("tokenizer_config.json", 2, "it holds a JSON array")
    >>> TokenizerFilesView(TokenizerFiles("mine", (state,), ()))
    Tokenizer files of mine: 1 file cannot be read
    x tokenizer_config.json  it holds a JSON array
    """

    title = "Tokenizer files"
    headings = ("subject", "status", "words", "file", "says")

    def __init__(
        self, files: TokenizerFiles, findings: tuple[Finding, ...] = ()
    ) -> None:
        super().__init__()
        self.files = files
        self.findings = findings

    @property
    def ok(self) -> bool:
        """Whether all could be read, loaded and compared, and nothing disagrees."""
        return self.files.ok

    def _summarise(self) -> Told:
        head = f"Tokenizer files of {self.files.folder}: {_verdict(self.files)}"
        lines = [Line("x", each.name, each.problem) for each in self.files.problems]
        read = [each for each in self.files.files if not each.problem]
        if read:
            lines.append(Line("", "files", ", ".join(map(_file, read))))
        lines += [_line(each) for each in self.files.agreements]
        return Told(head, tuple(lines))

    def _table(self, summary: Told) -> Rows:
        rows = [
            (each.name, "fails", each.problem, each.name, "")
            for each in self.files.problems
        ]
        rows += [
            (each.subject, each.status, each.words, file, says)
            for each in self.files.agreements
            for file, says in (each.says or {"": ""}).items()
        ]
        return rows


def _verdict(files: TokenizerFiles) -> str:
    status = [each.status for each in files.agreements]
    differ = status.count("differs") + status.count("fails")
    said = [f"{count(len(files.problems), 'file')} cannot be read"]
    said = said if files.problems else []
    said += [f"{count(differ, 'disagreement')}"] if differ else []
    said += ["not everything is checked"] if "not checked" in status else []
    return ", ".join(said) or "they agree"


def _file(state: FileState) -> str:
    return f"{state.name} {size(state.size)}"


def _line(each: Agreement) -> Line:
    return Line(MARKS[each.status], each.subject, each.words)
