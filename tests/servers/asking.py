"""Holds a server against the model in hand, as its user does."""

import re

import ftlab
from tests.servers.kinds import KINDS
from tests.servers.lesson import CHATS, messages

ASKED = [messages(question) for question, _ in CHATS]
TEXTS = ["The sky is blue", "An elephant"]


def served(kind, work, folder, model, tokens, prompts=ASKED, **options):
    """Serve a folder and hold the server against the model in hand."""
    room = work / "room"
    room.mkdir(parents=True)
    with KINDS[kind].serve(folder, room) as server:
        return asked(server, model, tokens, prompts, **options)


def asked(server, model, tokens, prompts=ASKED, **options):
    """Hold a server against the model in hand."""
    (found,) = ftlab.roundtrip(
        model, tokens, prompts, served=server.url, only="served", tokens=24, **options
    )
    return found


def assert_says(found, words):
    """Look for words in what an outcome says."""
    assert re.search(words, found.says), found.says
