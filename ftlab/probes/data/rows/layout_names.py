"""Names of columns that many datasets share, by what they hold.

A column is known by its name in small letters, with `_` for spaces and hyphens: `Body`
is `body`, and `answerKey` is `answerkey`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

QUESTIONS = ("question", "query", "problem", "question_text", "question_stem")
CONTEXTS = (
    *("context", "passage", "paragraph", "document", "article", "story", "text"),
    "support",
)
ANSWERS = ("answers", "answer", "answer_text", "correct_answer", "best_answer")
"""What asks, what it asks about, and what answers it: a text, or several."""

STEMS = (*QUESTIONS, "ctx", "goal", "premise", "stem", "sentence", "startphrase")
CHOICES = ("choices", "options", "endings", "candidates")
KEYS = (
    *("answerkey", "answer_key", "answer", "label", "answer_idx", "answer_index"),
    *("correct", "correct_answer", "correct_option", "gold", "cop"),
)
"""What is asked, what there is to choose from, and which of it is right."""

WORDS = ("tokens", "words")

TWO_TEXTS = (
    ("premise", "hypothesis"),
    ("query", "passage"),
    ("query", "document"),
    ("question", "passage"),
    ("question", "sentence"),
    ("claim", "evidence"),
)
"""Texts that are judged together."""

SEVERAL = ("set", "pair", "texts", "sentences")
ANCHORS = ("anchor", "query", "question", "sentence")
POSITIVES = ("positive", "pos", "positives", "positive_passages", "positive_passage")

ASKED = (
    *("document", "article", "dialogue", "dialog", "transcript", "source", "src"),
    *("source_text", "src_text", "input_text", "original", "sentence", "passage"),
    *("report", "story", "description", "text", "content", "body", "context"),
    *("input", "prompt", "instruction", "question", "query", "problem", "code"),
)
ANSWERED = (
    *("summary", "highlights", "abstract", "headline", "tldr", "target", "tgt"),
    *("target_text", "tgt_text", "output_text", "translation", "simplified"),
    *("paraphrase", "correction", "corrected", "rewrite", "response", "completion"),
    *("output", "answer", "solution", "sql", "docstring"),
)
"""What is written anew or answered, and what comes of it."""

MORE_PAIRS = (
    *(("q", "a"), ("user", "assistant"), ("human", "assistant"), ("human", "bot")),
    *(("request", "response"), ("inputs", "targets"), ("question", "query")),
    *(("utterance", "query"), ("question", "solutions"), ("sql_prompt", "sql")),
    *(("nl", "bash"), ("invocation", "cmd"), ("intent", "snippet")),
    *(("buggy", "fixed"), ("buggy_code", "fixed_code"), ("diff", "message")),
    *(("old_contents", "new_contents"), ("chapter", "summary_text")),
    *(("linearized_input", "target"), ("sourcestring", "targetstring")),
    ("inputs_pretokenized", "targets_pretokenized"),
    ("meaning_representation", "human_reference"),
    ("func_documentation_string", "func_code_string"),
    ("instruction", "demonstration"),
)
"""The same, of names that mean it only together."""

FURTHER = (
    *("input", "context", "contexts", "passage", "passages", "paragraph", "article"),
    *("document", "documents", "story", "background", "table", "schema", "hint"),
    *("choices", "options", "sql_context"),
)
"""What goes on with a prompt, as a text or a list of texts."""

REQUESTS = ("instruction", "prompt", "question", "problem")
"""What is asked of a text that stands in a column of its own."""

SUMMARIES = ("summary", "highlights", "headline", "tldr", "translation")
"""What is written of a column `text` or `content`, and is no class of it."""

TEXTS = (
    *("text", "content", "sentence", "document", "article", "passage", "review"),
    *("review_text", "comment", "comment_text", "tweet", "body", "full_text"),
    *("dialogue", "transcript", "story", "abstract", "utterance", "code"),
    *("description", "sequence", "seq", "smiles", "caption", "transcription"),
    *("lyrics", "poem", "raw_content", "raw_text", "plain_text", "clean_text"),
    *("cleaned_text", "markdown", "review_body", "reviewtext", "utt"),
)
JUDGED_TEXTS = (
    *("statement", "claim", "message", "email", "sms", "post", "phrase", "question"),
    *("query", "headline", "title", "input", "request", "protein", "func"),
)
TITLES = ("title", "subject", "headline")
"""Texts that stand alone, those that do beside a label, and what stands above them."""

LABELS = (
    *("label", "labels", "gold_label", "is_duplicate", "score", "similarity"),
    *("similarity_score", "relatedness_score", "rating", "stars", "overall"),
    *("sentiment", "category", "class", "target", "intent"),
)
"""What a text is judged to be."""

_CODES = (
    "af ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr "
    "hu hy is it ja ka kk km kn ko lt lv mk ml mn mr ms mt my nb ne nl nn no pa pl ps "
    "pt ro ru si sk sl sq sr sv sw ta te th tl tr uk ur uz vi zh"
)
_LANGUAGES = (
    "arabic chinese czech danish dutch english finnish french german greek hebrew "
    "hindi hungarian indonesian italian japanese korean norwegian persian polish "
    "portuguese romanian russian spanish swedish thai turkish ukrainian vietnamese"
)
LANGUAGES = frozenset(f"{_CODES} {_LANGUAGES}".split())
"""Languages that name a column, without `id`, which names rows as well."""

_NUMBERED = re.compile(
    r"(?P<stem>(?:question|sentence|text|query|sent|s|document|passage|paragraph"
    r"|string|phrase|response)s?_?)(?P<first>1|a)"
)
_OPTION = re.compile(r"(?:option|choice|ending|sol|answer|op)_?[0-9a-e]")
_TAGS = re.compile(r"(?:\w+_)?(?:tags?|labels?|upos|xpos|pos|ner)")

LAYOUTS = 256
"""Sets of columns whose names are remembered."""


@dataclass(frozen=True, eq=False, slots=True)
class Names:
    """Columns by their name in small letters; each set of them is only itself.

    Attributes
    ----------
    spelt
        By the name in small letters, the column as the row has it.
    """

    spelt: Mapping[str, str]

    def __contains__(self, name: str) -> bool:
        return name in self.spelt

    def __getitem__(self, name: str) -> str:
        return self.spelt[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.spelt)

    def get(self, name: str) -> str | None:
        """Return the column of a name; ``None`` where there is none."""
        return self.spelt.get(name)


@lru_cache(LAYOUTS)
def known_names(columns: tuple[object, ...]) -> Names:
    """Return the columns by their name in small letters.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layout_names import known_names
    >>> dict(known_names(("Ticket Body", "answerKey")).spelt)
    {'ticket_body': 'Ticket Body', 'answerkey': 'answerKey'}
    """
    made: dict[str, str] = {}
    for column in columns:
        if isinstance(column, str):
            small = column.strip().casefold().replace(" ", "_").replace("-", "_")
            made.setdefault(small, column)
    return Names(made)


@lru_cache(16 * LAYOUTS)
def first_of(names: Names, wanted: tuple[str, ...]) -> str | None:
    """Return the first column that has one of some names."""
    return next((names[each] for each in wanted if each in names), None)


@lru_cache(LAYOUTS)
def two_texts(names: Names) -> tuple[str, str] | None:
    """Return two columns that are judged together.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layout_names import known_names, two_texts
    >>> two_texts(known_names(("idx", "text_a", "text_b", "label")))
    ('text_a', 'text_b')
    """
    for one, two in TWO_TEXTS:
        if one in names and two in names:
            return names[one], names[two]
    for name in names:
        if found := _NUMBERED.fullmatch(name):
            other = found["stem"] + ("2" if found["first"] == "1" else "b")
            if other in names:
                return names[name], names[other]
    return None


@lru_cache(LAYOUTS)
def asked_and_answered(names: Names) -> tuple[str, str] | None:
    """Return two columns of which one is written of the other.

    Examples
    --------
    >>> from ftlab.probes.data.rows.layout_names import asked_and_answered, known_names
    >>> asked_and_answered(known_names(("db_id", "question", "query")))
    ('question', 'query')
    """
    asked, answered = first_of(names, ASKED), first_of(names, ANSWERED)
    if asked is not None and answered is not None:
        return asked, answered
    if first_of(names, ANSWERS) is not None:
        return None  # answers of a form that is not known
    held = ((one, two) for one, two in MORE_PAIRS if one in names and two in names)
    return next(((names[one], names[two]) for one, two in held), None)


@lru_cache(LAYOUTS)
def numbered_choices(names: Names) -> tuple[str, ...]:
    """Return the columns that hold a choice each: `option1`, `option2`."""
    return tuple([names[name] for name in names if _OPTION.fullmatch(name)])


@lru_cache(LAYOUTS)
def tag_columns(names: Names) -> tuple[str, ...]:
    """Return the columns that may hold a tag for each word."""
    return tuple([names[name] for name in names if _TAGS.fullmatch(name)])
