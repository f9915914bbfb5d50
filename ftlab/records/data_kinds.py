"""The kinds of faults that a dataset can have: what they are, and what mends them."""

from ftlab.records.data_kind import ALWAYS, NEVER, Kind
from ftlab.records.finding import Severity

_ALL = (
    Kind(
        "unreadable-row",
        "rows that cannot be read",
        "The file was cut off, written by two processes, or is of another format or "
        "encoding.",
        "Write these rows anew from their source, or leave them out: "
        "report.filtered(path).",
        ALWAYS,
        left_out=True,
        severity=Severity.ERROR,
    ),
    Kind(
        "unknown-columns",
        "no column that is known",
        "Known are messages or conversations, prompt and completion, prompt with "
        "chosen and rejected, instruction, input and output, question and answer, and "
        "text.",
        "Rename the columns, or map the rows: "
        "dataset.map(lambda row: {'messages': ...}).",
        ALWAYS,
        severity=Severity.ERROR,
    ),
    Kind(
        "malformed-messages",
        "messages that no template can render",
        "A conversation was stored as a text, a message has no role, or its content is "
        "neither text nor a list of parts.",
        "Store each conversation as a list of {'role': ..., 'content': ...}; "
        "json.loads reads one that is a text.",
        ALWAYS,
        left_out=True,
        severity=Severity.ERROR,
    ),
    Kind(
        "half-character",
        "a half of a character, which no tokenizer takes",
        "A text was cut within a character, or its escapes were.",
        "text.encode('utf-8', 'replace').decode() replaces it; or leave the row out.",
        ALWAYS,
        left_out=True,
        severity=Severity.ERROR,
    ),
    Kind(
        "empty-answer",
        "an empty answer",
        "An export has lost the answers: all that such a row teaches is to end at "
        "once.",
        "Leave these rows out, or write what is meant by saying nothing.",
        left_out=True,
    ),
    Kind(
        "empty-text",
        "an empty text",
        "Blank lines of a file were taken for rows, or an export has lost them.",
        "Leave these rows out.",
        NEVER,
        left_out=True,
    ),
    Kind(
        "question-without-answer",
        "a question at the end, and no answer",
        "The conversation was cut off, or its last message is a question.",
        "Cut these conversations behind their last answer, or leave them out.",
        0.01,
        0.5,
        left_out=True,
    ),
    Kind(
        "unfinished-answer",
        "an answer that breaks off",
        "The answer was cut by a limit where it was generated or stored: a model "
        "trained on it learns to stop anywhere.",
        "Generate these answers anew with a higher max_new_tokens, or leave them out.",
        0.01,
        0.5,
    ),
    Kind(
        "answer-of-cut-length",
        "an answer that breaks off where the longest ones do",
        "These answers were generated up to one number of tokens (max_new_tokens), and "
        "cut there: a model trained on them learns to stop anywhere.",
        "Generate them anew with a higher limit, or leave them out.",
    ),
    Kind(
        "missing-end-mark",
        "no end mark, with which most of the others end",
        "Rows from another source, or cut off: where the end mark is missing, no end "
        "is learnt.",
        "Append the mark to these texts.",
    ),
    Kind(
        "roles-out-of-order",
        "roles out of order",
        "Messages were lost, doubled, or sorted in another way.",
        "Put these conversations in order (system, user, assistant, user, ...); join "
        "what one speaker says in a row into one message.",
        0.001,
        0.5,
    ),
    Kind(
        "unknown-role",
        "a role that chat templates do not know",
        "The role is misspelt, or from another notation.",
        "Rename it to system, user, assistant or tool.",
        0.001,
        0.5,
    ),
    Kind(
        "duplicate-row",
        "exactly what an earlier row says",
        "The rows were joined twice, or sampled with repetition.",
        "Leave the copies out: report.filtered(path).",
        0.01,
        left_out=True,
    ),
    Kind(
        "near-duplicate",
        "almost what an earlier row says",
        "The same text with other spelling, spaces or a few other words.",
        "Leave the later ones out: report.filtered(path).",
        0.05,
        left_out=True,
    ),
    Kind(
        "leaked-evaluation-row",
        "rows of the evaluation data",
        "The data was split before its duplicates were taken out, or the files "
        "overlap: the evaluation measures what was learnt by heart.",
        "Leave these rows out of the training, or split by groups of equal prompts.",
        left_out=True,
    ),
    Kind(
        "leaked-evaluation-prompt",
        "a prompt of the evaluation data, with another answer",
        "Several answers to one prompt were split row by row.",
        "Split by groups of equal prompts.",
        0.01,
        0.5,
    ),
    Kind(
        "broken-encoding",
        "text that was decoded with a wrong encoding",
        "UTF-8 was read as another encoding (mostly cp1252 or Latin-1), or bytes that "
        "could not be decoded were replaced.",
        "Read the source with encoding='utf-8', or repair the text with "
        "ftfy.fix_text; what was replaced by U+FFFD is lost.",
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
        "special-token-in-content",
        "a special token of the tokenizer within a message",
        "The text was rendered by a template before, or a user wrote the token: it "
        "becomes one token, which opens or ends a turn in the middle of a message.",
        "Take the mark out of the text, or tokenise messages with "
        "split_special_tokens=True.",
    ),
    Kind(
        "special-token-in-text",
        "a special token of the tokenizer, which most rows do not hold",
        "Some texts were rendered by a template before.",
        "Take the mark out of the text, or render all rows in the same way.",
        0.001,
        0.5,
        among=("prompt and answer", "preference", "prompt"),
    ),
    Kind(
        "role-mark-in-content",
        "a mark by which speakers are told apart",
        "The text quotes a prompt; a search for the mark starts or ends the trained "
        "part there.",
        "Tell answers by the positions of messages, not by a search for the mark.",
        0.001,
        0.5,
    ),
    Kind(
        "unknown-tokens",
        "text that the vocabulary lacks, in more than 2 % of the tokens",
        "The vocabulary has no bytes to fall back on, and never saw these characters.",
        "A tokenizer with bytes to fall back on; or leave these rows out.",
    ),
    Kind(
        "label-in-prompt",
        "the answer behind the same words of the prompt",
        "The column of the label was written into the prompt, most often with other "
        "data about the row: the model reads it off, and cannot when it is used.",
        "Take the field out of the prompt.",
        ALWAYS,
    ),
    Kind(
        "prompt-in-completion",
        "the whole prompt once more in the completion",
        "The completion column holds the whole text: the prompt is then seen twice.",
        "row['completion'].removeprefix(row['prompt']).",
        0.1,
    ),
    Kind(
        "equal-pair",
        "the same text as chosen and as rejected",
        "The pair was made of one answer: nothing can be preferred.",
        "Leave these rows out.",
        left_out=True,
    ),
    Kind(
        "answer-cut-off",
        "an answer whose end is cut off by max_length",
        "A row is cut off behind max_length, with the token that ends the answer.",
        "A higher max_length, or leave these rows out.",
        0.05,
    ),
    Kind(
        "answer-cut-away",
        "an answer that max_length cuts away whole",
        "Where only answers are trained, nothing of such a row is left.",
        "A higher max_length, shorter prompts, or leave these rows out.",
        0.01,
    ),
    Kind(
        "huge-row",
        "a text so long that its tokens were estimated",
        "A whole file or a picture in text form, most often.",
        "Cut the text into parts, or leave the row out.",
    ),
)

KINDS = {kind.name: kind for kind in _ALL}
"""Every kind by its name."""
