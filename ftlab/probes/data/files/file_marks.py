"""What a file is that should hold lines of JSON, and does not: by how it begins."""

import codecs

_ENCODINGS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
    b"{\0": "UTF-16-LE",
    b"[\0": "UTF-16-LE",
    b"\0{": "UTF-16-BE",
    b"\0[": "UTF-16-BE",
}
"""Longer ones first: the mark of UTF-32 begins as that of UTF-16 does."""

_FORMATS = {
    b"\x1f\x8b": "is packed by gzip; give it a name that ends in .jsonl.gz",
    b"BZh": "is packed by bzip2; unpack it: bunzip2",
    b"\x28\xb5\x2f\xfd": "is packed by Zstandard; unpack it: unzstd",
    b"PK\x03\x04": "is a ZIP archive; unpack it: unzip",
    b"PAR1": "is Parquet; give it a name that ends in .parquet",
    b"ARROW1": "is Arrow; give it a name that ends in .arrow",
}


def other_format(head: bytes) -> str:
    """Say what a file is if it is no UTF-8, and what to do; ``""`` where it may be.

    Examples
    --------
    >>> from ftlab.probes.data.files.file_marks import other_format
    >>> other_format(b"BZh91AY")
    'is packed by bzip2; unpack it: bunzip2'
    >>> other_format(b'{"text": "a"}')
    ''
    """
    for mark, name in _ENCODINGS.items():
        if head.startswith(mark):
            return (
                f"is {name}; rows are read as UTF-8. Write it anew: "
                f"open(new, 'w', encoding='utf-8').write(open(old, "
                f"encoding='{name.lower()}').read())"
            )
    return next((says for mark, says in _FORMATS.items() if head.startswith(mark)), "")


def layout_of(line: str) -> str:
    """Say what a text is by its first line, where no line of it is JSON.

    Examples
    --------
    >>> from ftlab.probes.data.files.file_marks import layout_of
    >>> layout_of("prompt,completion")
    "It looks like CSV: ftlab.data(load_dataset('csv', data_files=..., split='train'))."
    >>> layout_of("oops")
    ''
    """
    begin = line.strip()
    if begin == "{" or (begin.startswith("{") and begin.endswith((",", "[", "{"))):
        return (
            "It looks like objects over several lines: 'jq -c . old.json > new.jsonl' "
            "writes each in one; of an object that holds the rows, pass the list: "
            "ftlab.data(json.load(open(path))[...])."
        )
    if not begin.startswith(("{", "[")) and ("," in begin or "\t" in begin):
        return (
            "It looks like CSV: ftlab.data(load_dataset('csv', data_files=..., "
            "split='train'))."
        )
    return ""
