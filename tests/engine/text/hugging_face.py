"""Hugging Face's own tokenizers, imported only where an oracle test or a golden file needs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.api import ChatMessage


def hugging_face_qwen3(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(folder))


def hugging_face_gguf(path: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)


def chat_of(messages: Sequence[ChatMessage]) -> list[dict[str, object]]:
    """The messages as a user of transformers would write them."""
    chat: list[dict[str, object]] = []
    for message in messages:
        entry: dict[str, object] = {"role": message.role.value, "content": message.text}
        if message.thinking:
            entry["reasoning_content"] = message.thinking
        if message.tool_calls:
            entry["tool_calls"] = [
                {"type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in message.tool_calls
            ]
        chat.append(entry)
    return chat
