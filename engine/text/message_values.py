"""Chat messages in the plain dictionaries and lists that chat templates take."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from engine.api import ChatMessage, Role, ToolCall


def message_values(
    message: ChatMessage, parse_arguments: bool, change: Callable[[str], str]
) -> dict[str, object]:
    """The message as transformers would hand it to a template, `change` applied to its texts.

    Thinking is given under both names that templates read. `parse_arguments`: the template wants
    the arguments of a tool call as an object; else it gets their JSON text.
    """
    values: dict[str, object] = {"role": message.role.value, "content": change(message.text)}
    if message.role is Role.ASSISTANT and message.thinking:
        values["reasoning_content"] = values["thinking"] = change(message.thinking)
    if message.tool_calls:
        values["tool_calls"] = [
            _call_values(call, parse_arguments, change) for call in message.tool_calls
        ]
    return values


def _call_values(
    call: ToolCall, parse_arguments: bool, change: Callable[[str], str]
) -> dict[str, object]:
    arguments: object = call.arguments
    if parse_arguments:
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            # Not JSON: the text as it stands loses nothing.
            arguments = call.arguments
    # Changed after parsing: JSON escapes may hide what a text says.
    function = {"name": change(call.name), "arguments": _with_texts_changed(arguments, change)}
    return {"type": "function", "function": function}


def _with_texts_changed(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _with_texts_changed(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_texts_changed(item, change) for item in value]
    return value


def strings_in(value: object) -> Iterator[str]:
    """Every string in nested dictionaries and lists, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings_in(key)
            yield from strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)
