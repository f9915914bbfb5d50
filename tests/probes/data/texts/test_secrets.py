"""Keys in texts, and what is written in place of one."""

import base64
import random
import string

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.secrets import secrets, without_secrets

LETTERS = string.ascii_letters + string.digits
CAPITALS = string.ascii_uppercase + "234567"


def drawn(length, of=LETTERS, seed=0):
    numbers = random.Random(seed)
    return "".join(numbers.choice(of) for _ in range(length))


def key_block():
    body = base64.b64encode(random.Random(1).randbytes(600)).decode()
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    kind = "RSA PRIVATE KEY"
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"


def found(text):
    return [(f.char, f.says) for _, f in secrets(parts_of({"text": text}))]


KEYS = [
    "ghp_" + drawn(36),
    "github_pat_" + drawn(22) + "_" + drawn(59),
    "AKIA" + drawn(16, CAPITALS),
    "AIza" + drawn(35),
    "xoxb-" + "9" * 11 + "-" + drawn(24),
    "hf_" + drawn(34, string.ascii_letters),
    "sk-" + drawn(48),
    "sk-proj-" + drawn(40),
    key_block(),
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:8])
def test_a_key_is_found_and_not_shown(key):
    ((char, says),) = found(f"set KEY={key}\nand go")
    assert char == 8
    assert says.startswith("a ")
    shown = without_secrets(f"set KEY={key}\nand go")
    assert key not in shown
    assert shown.startswith("set KEY=")


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "sk-" + "x" * 48,
        "sk-your-own-key-goes-right-here-in-this-place-of-it",
        "ghp_" + "a" * 36,
        "ghp_1234567890abcdefghijklmnopqrstuvwxyz12",
        "hf_" + "A" * 34,
        "task-" + drawn(48),
        "AKIA" + drawn(30, CAPITALS),
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "the prefix is ghp_ or sk-, and then letters",
    ],
)
def test_is_silent_on_examples(text):
    assert found(text) == []


def test_nearly_all_drawn_keys_are_found():
    for seed in range(200):
        assert found("AKIA" + drawn(16, CAPITALS, seed)), seed
        assert found("sk-" + drawn(48, LETTERS, seed)), seed


@pytest.mark.parametrize(
    "address", ["postgres://app:{}@db1:5432/prod", "redis://:{}@10.0.0.7/0"]
)
def test_a_password_in_an_address_is_found_and_not_shown(address):
    word = "PxukWte4" + "cBiF"
    text = "connect to " + address.format(word)
    assert found(text) == [(text.index(word), "a password in an address")]
    assert without_secrets(text) == text.replace(word, "*" * 12)


@pytest.mark.parametrize(
    "address",
    [
        "postgres://user:password@db1/prod",
        "postgres://app:P4ssw0rdX1y@db1/prod",
        "postgres://app:Summer2024@db1/prod",
        "postgres://app:<password>@db1/prod",
        "postgres://app:***********@db1/prod",
        "postgres://app:${DB_PASSWORD}@db1/prod",
        "postgres://%s:%s@%s/prod",
        "postgres://app:${{0}}@db1/prod",
        "postgres://app:<{0}>@db1/prod",
        "postgres://app:a1b2c3d4e5@db1/prod",
        "postgres://app:mySecretWord9X@db1/prod",
        "postgres://app:{0}@localhost:5432/prod",
        "postgres://app:{0}@db.example.com/prod",
        "postgres://app:{0}@your-host/prod",
        "https://a.org:8080/x and {0}@b.org",
        "https://a.org/{0}:{0}@b.org",
    ],
)
def test_is_silent_on_words_and_hosts_of_examples(address):
    assert found(address.replace("{0}", "Rt7kQz2mWx")) == []


def test_nearly_all_drawn_passwords_are_found():
    words = [drawn(16, LETTERS, seed) for seed in range(400)]
    known = [word for word in words if found(f"amqp://app:{word}@mq1/")]
    assert len(known) >= 360
