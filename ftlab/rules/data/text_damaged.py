"""The rule DAT063, text-damaged.

## What it does
Finds text that was read with a wrong encoding, characters that nobody sees, letters
that are spelt apart from their accents or shaped as fonts have them, and text that was
not read back from another form: JSON's escapes, HTML's entities and tags, a dictionary,
the lines and the frame of a page; Python code without its indentation, and conflicts
of a merge.

## Why is this bad?
Each becomes other tokens than what users type, two to four times as many, and the model
learns to write them.

## Evidence
Every character of every row. `broken-encoding` from 0.001 of the rows: U+FFFD, what
ftfy decodes to fewer and likelier characters, three words of question marks, or those
of 3 and more in a text without a letter of the script that half of the others have (two
runs of different length, 6 marks in all, or 8 beside a word; texts of nothing else, up
to 5 for each of these), or letters that no language combines: two of Turkish read as
cp1252, in 0.1 of the words, two Polish words with a raised figure within, three of four
accented letters and more alone. A capital letter and a quotation mark at a word's end
prove nothing. It is meant where the prompt speaks of encodings or an answer has the
line mended; so is a single U+FFFD beside no letter, quoted or spoken of within 80
characters. `invisible-character` from 0.01: format and control characters that neither
their script nor an emoji needs there, and a colour of a terminal that is not taken
back; a row may name the very one that it holds (U+200B). `decomposed-letters` from
0.01: pairs that NFC makes one, unless the tokenizer does so itself. `printed-letters`
from 0.01: five Arabic letters, and more than half of a text's, in the shapes that fonts
have for them, three side by side; or two ligatures within Latin words (U+FB01), in a
row that does not speak of them, nor has the word typed in an answer. `dotted-i` from
0.01: a small i and U+0307 within a word, without an accent, which Lithuanian has there.
`mixed-scripts` from 0.01: a letter that looks like one of another script, between two
letters of that. `escaped-text` from 0.01: a whole text in JSON's quotes and escapes, or
line ends as a backslash and an n, outside quotes, in a text of one line, two of them, a
doubled one, or one with an indented line behind it; where 0.9 of the answers, 50 at
least, are in JSON's quotes and some hold escapes, all of them. `wrapped-answer` from
0.01 and not above 0.5, where it is the form that is asked for: a dictionary with
`answer`, `output` or the like, and two other keys at most. `python-as-json` from 0.01:
a whole answer that `ast.literal_eval` reads as a dictionary or a list and `json.loads`
does not, to a prompt that speaks of JSON and not of Python, or where 10 other answers,
and as many as these, begin as JSON. `json-broken` from 0.001: an answer that begins as
JSON, which `json.loads` refuses for more than its end, where 20 others and 0.9 of all
that begin so can be read, to a prompt that does not speak of what is broken, of
JavaScript, templates or JSON with comments. `array-as-text` from 0.001: a whole answer,
or a dictionary or list, with `array(` and `dtype=`, to a prompt that does not speak of
NumPy, arrays, code or output. `date-for-number` from 0.001: 3 whole answers such as
`4-Mar`, to prompts that name no day, month or year, beside 3 such as `5/6` or `13-20`.
`html-entities` from 0.01: two in a text without tags or code, in a row that does not
speak of HTML and lists no three of them; or two in a block of code that has none of
their signs otherwise, one for an operator outside quotes if the block names a language.
`html-tags` from 0.01, and not above 0.5: two tags of prose in an answer, half of it at
most, outside code, pages and the cells of tables and behind no line of a program, to a
prompt that does not ask for HTML, pages or e-mails; or two `<br>`, one of them behind
the mark of a block of code. `hyphenated-lines` from 0.01: two words that go on in the
next line, with no other hyphen, and one for each 1,500 characters. Beside 10 such rows,
and 0.01, one word is enough that stands undivided in the first 20,000 texts, or whose
second half stands nowhere. `file-in-text` is always a note: 400 characters of base64,
small letters, capitals and digits among them, to a prompt that does not speak of it.
`lost-indentation` from 0.001: a whole text or a block that is marked as Python, up to
20,000 characters, in which no line is indented, which cannot be parsed for that, and
can with a body in the line of each head; or a function in one line, which cannot be
parsed, with a statement behind another, or whose comment goes on with two statements.
`page-around-text` from 0.01: a notice on cookies, a call for a newsletter, a menu of
four items or a footer with rights and links, in English, German, French or Spanish, the
same line among the first or last four of 5 texts without labels; or a line that ends
with the number of a page, of how many or beside the same line in 0.5 of 10 texts, with
three different ones. `sheet-escapes` from 0.001: `_x000D_` and its like, outside quotes
and names, in a row that does not speak of spreadsheets. `merge-markers` from 0.001: the
three lines that Git writes around both sides of a conflict, in this order, in an answer
or a text, where neither it nor the prompt speaks of merging. The shares are conventions
of ours: below them rows are told as a note.
Measured on a byte-level vocabulary: texts of 7 and 10 tokens have 29 and 21 when read
with cp1252, and NFD doubles the tokens of Vietnamese words.
By hand: `text.encode("cp1252").decode("utf-8")`, `unicodedata.normalize("NFC", text)`.

## What to try
1. Read the source with `encoding="utf-8"`; `ftfy.fix_text` repairs what is there.
2. `unicodedata.normalize("NFC", text)`, on data and on prompts.
3. `json.loads`, `html.unescape`, `ast.literal_eval`, for what was not read back.

## Known problems
Texts about wrong encodings hold them on purpose, and answers may be asked for in JSON.

## References
- ftfy's documentation, "fix_encoding"
- Git's manual, git-merge, "How conflicts are presented"
- Unicode Standard Annex #15; Unicode Technical Report #36 on hidden characters
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import NEVER, Kind

KINDS = (
    Kind(
        "broken-encoding",
        "text that was decoded with a wrong encoding",
        "UTF-8 or another code page was read as cp1252 or Latin-1, or bytes that "
        "could not be decoded, or not be written, were replaced.",
        "Read the source with its own encoding ('utf-8', 'cp1254', 'cp1251'), or "
        "repair the text with ftfy.fix_text, which UTF-8 alone can be; what was "
        "replaced by U+FFFD or question marks is lost.",
        left_out=True,
    ),
    Kind(
        "invisible-character",
        "characters that nobody sees and the tokenizer reads",
        "Copied from web pages or PDF files, or hidden on purpose.",
        "Take them out; keep joiners in emoji and where a script needs them.",
        0.01,
    ),
    Kind(
        "decomposed-letters",
        "letters and their accents spelt apart",
        "The text is in Unicode's NFD form (macOS file names, PDF files); users type "
        "NFC, which is other tokens.",
        "unicodedata.normalize('NFC', text), on the data and on prompts.",
        0.01,
    ),
    Kind(
        "printed-letters",
        "letters in the shapes of a printed page",
        "Taken from PDF files or pictures: each letter in the shape that it has beside "
        "its neighbours, at times from right to left; users type others.",
        "unicodedata.normalize('NFKC', text); where words are reversed, read the "
        "source again with a program that knows the script.",
        0.01,
    ),
    Kind(
        "dotted-i",
        "a small i with the dot of a large one",
        "str.lower() made text of Turkish or Azerbaijani small: it writes \u0130 as i "
        "and U+0307, which no language has.",
        "text.replace('i\\u0307', 'i'); next time text.replace('\u0130', 'i') before "
        "text.lower().",
        0.01,
    ),
    Kind(
        "mixed-scripts",
        "letters of another script within a word",
        "Read from pictures, or written to deceive: the word is other tokens than the "
        "one that it looks like.",
        "Replace them by the letters of the word's own script.",
        0.01,
    ),
    Kind(
        "escaped-text",
        "line ends and quotes as JSON escapes them",
        "The text was written as JSON twice and read once: the model learns to write "
        "backslashes in place of line ends.",
        "Read it once more: json.loads(text), or text.replace('\\\\n', '\\n').",
        0.01,
    ),
    Kind(
        "wrapped-answer",
        "a dictionary that holds the answer",
        "The whole reply of a program was kept, mostly by str(reply).",
        "Keep its text alone: ast.literal_eval(answer)['answer'].",
        0.01,
        0.5,
    ),
    Kind(
        "python-as-json",
        "a value as Python's str() writes it, where JSON is wanted",
        "str(value) or print(value) wrote the answer where json.dumps was meant: the "
        "model learns single quotes and None.",
        "json.dumps(ast.literal_eval(answer)).",
        0.01,
    ),
    Kind(
        "array-as-text",
        "an answer that is an array as Python shows it",
        "A column of arrays was written with str or to_csv: the model learns to write "
        "array([...], dtype=object).",
        "Write the values themselves: value.tolist() and json.dumps, or join them.",
        0.001,
    ),
    Kind(
        "date-for-number",
        "a date where others answer with a fraction or a range",
        "A spreadsheet took 3/4 for the 4th of March and saved it as 4-Mar.",
        "Make these answers anew from the source; give the column the format text "
        "before a spreadsheet reads it.",
        0.001,
        left_out=True,
    ),
    Kind(
        "json-broken",
        "answers in JSON that no program reads",
        "A comma behind the last value, a comment, a name or a quotation mark without "
        "its quotes or escapes: a model wrote it, or a person by hand.",
        "json.dumps of what is meant, or leave these rows out: report.filtered(path).",
        left_out=True,
    ),
    Kind(
        "html-entities",
        "signs as HTML writes them",
        "Taken from web pages, and not decoded.",
        "html.unescape(text).",
        0.01,
    ),
    Kind(
        "html-tags",
        "tags of HTML in prose or around code",
        "Copied from web pages, or exported from an editor, with its tags: the model "
        "learns to write them where nobody shows them as HTML.",
        "Take the text out of it: BeautifulSoup(text, 'html.parser').get_text('\\n').",
        0.01,
        0.5,
    ),
    Kind(
        "file-in-text",
        "a file written out in base64 within a text",
        "Copied with a picture or an attachment in it: thousands of tokens that nobody "
        "can learn.",
        "Put a link in its place: re.sub(r'[A-Za-z0-9+/]{400,}={0,2}', '...', text).",
        NEVER,
    ),
    Kind(
        "lost-indentation",
        "Python code without its indentation",
        "Each line was stripped, or all white space became one blank: the model learns "
        "to write code that no Python reads.",
        "Take these texts from their source again, with text.strip() for whole texts "
        "alone; nothing can bring the indentation back.",
        left_out=True,
    ),
    Kind(
        "page-around-text",
        "lines of the page around a text",
        "Taken from web pages with their menus and notices, or from PDF files with the "
        "headers and footers of each page: the model learns to write them.",
        "Take the text out of the page (trafilatura.extract(html)), and leave out the "
        "lines that many texts share.",
        0.01,
    ),
    Kind(
        "sheet-escapes",
        "control characters as spreadsheets write them",
        "A file of Excel was read without its escapes being undone: _x000D_ is a "
        "carriage return.",
        "re.sub(r'_x000D_\\n?', '\\n', text).",
    ),
    Kind(
        "merge-markers",
        "a conflict of a merge that nobody decided on",
        "The source was taken from a working tree in the middle of a merge: the model "
        "learns to write both sides, and Git's markers.",
        "Take these texts from their source again, merged; `git diff --check` names "
        "what is left.",
        left_out=True,
    ),
    Kind(
        "hyphenated-lines",
        "words divided at the ends of lines",
        "Taken from printed pages (PDF): the model learns to write halves of words.",
        "re.sub(r'(?<=[a-z])-\\n(?=[a-z])', '', text), and join the lines.",
        0.01,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class TextDamaged(RowRule):
    """Finds text that was read in a wrong way, or holds what nobody sees."""

    code = "DAT063"
    name = "text-damaged"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
