"""Who says a text, whatever a dataset calls them."""

ROLES = {
    **dict.fromkeys(("system", "developer"), "s"),
    **dict.fromkeys(("user", "human"), "u"),
    **dict.fromkeys(("assistant", "model", "bot", "gpt", "chatgpt"), "a"),
    **dict.fromkeys(("function_call", "tool_call"), "c"),
    **dict.fromkeys(
        (
            "tool",
            "function",
            "ipython",
            "observation",
            "tool_response",
            "function_response",
        ),
        "t",
    ),
}
"""Letters for the roles that are known: system, user, answer, call, result."""
