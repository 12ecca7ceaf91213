"""A tokenizer as a Hugging Face folder describes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.errors import BadModelFile, ModelFileMissing, UnsupportedModel
from engine.models.json_file import read_json_object
from engine.text.control_literals import ControlToken
from engine.text.tokenizer_definition import TokenizerDefinition, checked_token_id

TOKENIZER_LIMIT_BYTES = 64 << 20
"""Largest tokenizer.json that is read; Qwen3's has 11 MB, the largest known one 34 MB."""

CONFIG_LIMIT_BYTES = 8 << 20

_SUPPORTED = "byte-level BPE"
_NAMED = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)


def definition_from_folder(folder: Path) -> TokenizerDefinition:
    """Read tokenizer.json, tokenizer_config.json and, where present, what else names ends.

    Raises:
        ModelFileMissing, BadModelFile, UnsupportedModel.
    """
    path = folder / "tokenizer.json"
    document = read_json_object(path, TOKENIZER_LIMIT_BYTES, "turning text into tokens")
    vocabulary = _byte_level_vocabulary(str(path), document)
    config_path = folder / "tokenizer_config.json"
    config = read_json_object(config_path, CONFIG_LIMIT_BYTES, "the chat template")
    control_tokens = _control_tokens(path, document, config_path, config)
    ids = {**vocabulary, **{token.literal: token.token_id for token in control_tokens}}
    named_tokens = _named_tokens(str(config_path), config)
    return TokenizerDefinition(
        origin=str(path),
        document=document,
        vocabulary=vocabulary,
        control_tokens=control_tokens,
        stop_token_ids=_stop_token_ids(folder, named_tokens, ids),
        named_tokens=named_tokens,
        chat_template=_chat_template(folder, config),
    )


def _byte_level_vocabulary(where: str, document: Mapping[str, object]) -> dict[str, int]:
    """The vocabulary of a byte-level BPE model; anything else is refused by its name."""
    model = document.get("model")
    if not isinstance(model, dict):
        raise BadModelFile(where, f"model: expected an object, found {type(model).__name__}")
    # Old files leave the type out; those with merges are BPE.
    kind = model.get("type", "BPE" if "merges" in model else None)
    if kind != "BPE":
        raise UnsupportedModel("tokenizer model", kind, _SUPPORTED)
    if model.get("byte_fallback"):
        raise UnsupportedModel("tokenizer", "SentencePiece BPE (byte_fallback)", _SUPPORTED)
    if not _has_byte_level(document.get("pre_tokenizer")):
        raise UnsupportedModel("pre_tokenizer", "without ByteLevel", _SUPPORTED)
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, dict) or not vocabulary:
        raise BadModelFile(where, "model.vocab: expected an object of tokens and ids")
    return vocabulary


def _has_byte_level(pre_tokenizer: object) -> bool:
    if not isinstance(pre_tokenizer, dict):
        return False
    if pre_tokenizer.get("type") == "ByteLevel":
        return True
    parts = pre_tokenizer.get("pretokenizers")
    return isinstance(parts, list) and any(
        isinstance(part, dict) and part.get("type") == "ByteLevel" for part in parts
    )


def _control_tokens(
    path: Path, document: Mapping[str, object], config_path: Path, config: Mapping[str, object]
) -> tuple[ControlToken, ...]:
    """The added tokens of both files; where they differ, tokenizer.json holds."""
    tokens: dict[str, ControlToken] = {}
    decoder = config.get("added_tokens_decoder") or {}
    if not isinstance(decoder, dict):
        raise BadModelFile(str(config_path), "added_tokens_decoder: expected an object")
    for key, entry in decoder.items():
        token_id: object = int(key) if key.isdecimal() and len(key) < 12 else key
        token = _control_token(str(config_path), token_id, entry)
        tokens[token.literal] = token
    added = document.get("added_tokens") or []
    if not isinstance(added, list):
        raise BadModelFile(str(path), "added_tokens: expected a list")
    for entry in added:
        token_id = entry.get("id") if isinstance(entry, dict) else None
        token = _control_token(str(path), token_id, entry)
        tokens[token.literal] = token
    return tuple(tokens.values())


def _control_token(where: str, token_id: object, entry: object) -> ControlToken:
    literal = entry.get("content") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(literal, str) or not literal:
        raise BadModelFile(
            where, f"added token: expected an object with content, found {entry!r:.80}"
        )
    return ControlToken(
        token_id=checked_token_id(where, f"added token {literal!r:.80}", token_id),
        literal=literal,
        strips_left=entry.get("lstrip") is True,
        strips_right=entry.get("rstrip") is True,
        single_word=entry.get("single_word") is True,
    )


def _named_tokens(where: str, config: Mapping[str, object]) -> dict[str, str]:
    named: dict[str, str] = {}
    for name in _NAMED:
        value = config.get(name)
        if isinstance(value, dict):
            value = value.get("content")
        if value is None:
            continue
        if not isinstance(value, str):
            raise BadModelFile(where, f"{name}: expected a token, found {value!r:.80}")
        named[name] = value
    return named


def _stop_token_ids(
    folder: Path, named_tokens: Mapping[str, str], ids: Mapping[str, int]
) -> frozenset[int]:
    """All ends that any of the files names."""
    stops: set[int] = set()
    for name in ("generation_config.json", "config.json"):
        path = folder / name
        if not path.is_file():
            continue
        value = read_json_object(path, CONFIG_LIMIT_BYTES, "the end tokens").get("eos_token_id")
        for token_id in value if isinstance(value, list) else [value]:
            if token_id is not None:
                stops.add(checked_token_id(str(path), "eos_token_id", token_id))
    eos = named_tokens.get("eos_token")
    if eos is not None and eos in ids:
        stops.add(checked_token_id(str(folder / "tokenizer.json"), f"token {eos!r:.80}", ids[eos]))
    if not stops:
        raise BadModelFile(str(folder), "no file names an end token (eos_token, eos_token_id)")
    return frozenset(stops)


def _chat_template(folder: Path, config: Mapping[str, object]) -> str:
    """chat_template.jinja where there is one, else the (default) template of the config."""
    path = folder / "chat_template.jinja"
    if path.is_file():
        try:
            with path.open("rb") as file:
                data = file.read(CONFIG_LIMIT_BYTES + 1)
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadModelFile(str(path), f"expected UTF-8 text, {error.reason}") from None
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            raise BadModelFile(str(path), reason, error.errno) from None
    template = config.get("chat_template")
    if isinstance(template, list):
        named = {
            entry.get("name"): entry.get("template")
            for entry in template
            if isinstance(entry, dict)
        }
        template = named.get("default")
    if template is None:
        raise ModelFileMissing(str(path), "chatting (tokenizer_config.json has no template either)")
    if not isinstance(template, str):
        raise BadModelFile(
            str(folder / "tokenizer_config.json"), "chat_template: expected text or a list of them"
        )
    return template
