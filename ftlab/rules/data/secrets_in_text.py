"""The rule DAT092, secrets-in-text.

## What it does
Finds keys and tokens of services, private keys, and passwords in addresses, in the
texts of a dataset.

## Why is this bad?
A model can be made to recite what it was trained on, keys first of all: whoever may ask
it then has them, and so has whoever reads the dataset.

## Evidence
Every text, for what begins and is built as the keys of GitHub, AWS, Google, Slack,
Hugging Face and of models' services are, and for blocks of private keys; one row is
enough. Of its characters, or of 36 where there are more, 0.4 are different ones, and it
holds no word as manuals put into examples: `EXAMPLE`, `your`, `xxxx`, `1234`. A
password in an address (`postgres://user:...@host`) has 8 characters, a figure among
them, 4 changes between small letters, capitals and figures, and no such word, `p4ss`
for `pass` included; its host is no example and not `localhost`.
Measured: of 2,000 drawn keys of five of these forms 1,999 were found; no row of 71
healthy sets has one. Of 2,000 drawn passwords of 12 and 16 letters and figures 1,719
and 1,876 were found. Where a place is shown, stars stand for what may be a key.
By hand: `grep -nE 'ghp_[A-Za-z0-9]{36}|AKIA[A-Z2-7]{16}' rows.jsonl`.

## What to try
1. Have the key withdrawn first: the file was read by others already.
2. Write something else in its place; the row can stay.

## Known problems
Passwords elsewhere have no form, and are not found. Whether a key still works is not
asked.

## References
- Carlini et al., "Extracting Training Data from Large Language Models", 2021
- GitHub, "Secret scanning patterns"
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import ALWAYS, Kind

KINDS = (
    Kind(
        "secret-in-text",
        "a key, token or password of a service",
        "Logs, code or settings were taken over as they were: a model can recite them.",
        "Withdraw the key where it was made, and write something else in its place.",
        ALWAYS,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class SecretsInText(RowRule):
    """Finds keys of services within texts."""

    code = "DAT092"
    name = "secrets-in-text"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
