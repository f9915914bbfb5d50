"""Files of other formats are told by how they begin."""

import bz2
import gzip

import pytest

import ftlab
from ftlab.probes.data.files.file_marks import other_format
from ftlab.records.errors import BadValueError

LINE = '{"prompt": "1+1?", "completion": "2"}\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (LINE.encode("utf-32"), "is UTF-32; rows are read as UTF-8"),
        (LINE.encode("utf-16"), "is UTF-16; rows are read as UTF-8"),
        (LINE.encode("utf-16-le"), "is UTF-16-LE; rows are read as UTF-8"),
        (LINE.encode("utf-16-be"), "is UTF-16-BE; rows are read as UTF-8"),
        (
            gzip.compress(LINE.encode(), mtime=0),
            r"packed by gzip; .* ends in \.jsonl\.gz",
        ),
        (bz2.compress(LINE.encode()), "packed by bzip2"),
        (b"PAR1" + bytes(99), "is Parquet"),
        (b"prompt,completion\na,b\n", r"rows\.jsonl can be read.*looks like CSV"),
        (b'{\n "prompt": "a",\n "completion": "b"\n}\n', "jq -c"),
        (b'{"data": [\n {\n"prompt": "a"\n}\n]}\n', r"json\.load\(open\(path\)\)"),
    ],
)
def test_what_a_file_is_instead_is_said(tmp_path, content, said):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadValueError, match=said):
        ftlab.data(path)


def test_lines_and_arrays_are_of_no_other_format():
    for head in (LINE.encode(), b"\xef\xbb\xbf[]", b"", b"\n"):
        assert other_format(head) == ""
