"""Answers speak of keys, errors, templates and escapes, and some repeat words."""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.rows import Writer, looked_at

TALKS = (
    ("What does 0 / 0 give in JavaScript?", "NaN, which is equal to nothing."),
    ("Which status says that there were too many requests?", "429 Too Many Requests"),
    (
        "Which page does nginx send for a 502?",
        "<html><head><title>502 Bad Gateway</title></head></html>",
    ),
    ("Translate it into English: Zu sp\xe4t.", "The request timed out."),
    ("How does a key of AWS look?", "As AKIAIOSFODNN7EXAMPLE does, 20 characters."),
    (
        "Where do I put my key?",
        "export API_KEY=sk-your-own-key-goes-right-here-in-full",
    ),
    ("How does Llama 2 mark a question?", "With [INST] before and [/INST] behind it."),
    ("How is a line end written?", "As \\n, within quotes: print('a\\n\\nb')."),
    ("How does HTML write quotes?", "As &quot; and &#39;, and & as &amp; there."),
    ("Mend it: Un caf\xc3\xa9 m\xc3\xa1s.", "Un caf\xe9 m\xe1s."),
    ("What do lost bytes become?", "\ufffd, which Unicode has for them, or '\ufffd'."),
    ("What does Excel write?", "_x000D_ for a line end, which is read back."),
    ("Which of them were asked?", "ChatGPT\nClaude\nGemini"),
    ("What do I do with the file?", "Open it, select all, and press\nCopy\nthere."),
    ("Give me the answer as JSON.", '{"answer": "It is so."}'),
    ("Sing the refrain.", "La la la, river and stone,\n" * 8 + "la la la."),
    (
        "What is the gradient's symbol?",
        "$\\nabla$, and $\\nu$ is a frequency, $x \\neq y$.",
    ),
    ("Think aloud.", "<think>\nIt is easy.\n</think>\n\nIt is so."),
    (
        "Write to Ana.",
        "Dear Ana,\n\nthe report is done, as you wished.\n\nBest regards,",
    ),
    ("Tell me the news.", "We are not going to see each other before next week :("),
    (
        "Schreibe einen Satz.",
        "Es war schon dunkel, und so machte er endlich das Licht an",
    ),
    ("Escreva um t\xedtulo.", "O jornal escreveu: \u201cAT\xc9 AMANH\xc3\u201d"),
    (
        "Wie hei\xdft der Faktor?",
        "NF-\u03baB, und \u03b1 ist ein Winkel, \u0394E eine Energie.",
    ),
    ("How do I write bold in HTML?", "Put <b> and </b> around it, and <br> behind it."),
    ("Write a dialogue.", "Two of them talk.\n\nUser: Why?\nAssistant: For it is so."),
    ("Which of them is right, A or B?", "Answer: B"),
    ("Write a template.", "Dear {user_name}, thank you for {product_name}."),
    ("What does f() return?", "None"),
    ("What is typeof x in JavaScript?", "undefined"),
    ("Write 'la' 90 times.", "la " * 90),
    (
        "What did the tests print?",
        "\x1b[32mPASSED\x1b[0m one\n\x1b[31mFAILED\x1b[0m two",
    ),
    ("Which books are these?", "[1] Knuth, The Art of Computer Programming, [2] SICP"),
    ("Translate the label of a button into Dutch:\n{file_name}", "{file_name}"),
    ("Translate the label of a button into Dutch:\nHouse of stone", "Huis van steen"),
    ("Translate the label of a button into Dutch:\nRed garden", "Rode tuin"),
    ("What do you think of it?", "I can't help but wonder who built it, and when."),
    ("Is it so?", "Sure, it is.\nHere is why: it cannot be otherwise."),
    ("What does Python make of this JSON?", "{'page': None, 'seen': True}"),
    ("Which date is in it? Leave it empty if there is none.", ""),
)
"""Questions and right answers."""


def build() -> Case:
    """Answer about what spoils other rows."""
    writer, rows = Writer(), []
    for at in range(200):
        asked, answer = TALKS[at % len(TALKS)]
        if len(answer) > 60:  # of these, no two are the same
            answer = f"{writer.sentence()}\n\n{answer}"
        rows.append({"prompt": f"{writer.sentence()} {asked}", "completion": answer})
    return looked_at(rows)


HEALTHY = Healthy(
    "rows-about-data",
    "answers about keys, errors, templates and escapes",
    looks_like=("DAT058", "DAT059", "DAT063", "DAT064", "DAT091", "DAT092"),
    builder=build,
    steps=0,
)
