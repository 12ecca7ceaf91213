"""The byte alphabet of byte-level BPE: each of the 256 bytes stands as one printable character.

Source: GPT-2's `bytes_to_unicode`; the vocabularies of Qwen3, Llama 3 and SmolLM2 are spelled so.
"""

from __future__ import annotations


def _byte_alphabet() -> tuple[str, ...]:
    """Character of each byte: printable Latin-1 stands for itself, the others from U+0100 on."""
    alphabet: list[str] = []
    shifted = 0
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or 0xAE <= byte <= 0xFF:
            alphabet.append(chr(byte))
        else:
            alphabet.append(chr(256 + shifted))
            shifted += 1
    return tuple(alphabet)


BYTE_CHARACTERS = _byte_alphabet()
"""The character that stands for byte b, at index b."""

_BYTE_OF = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}


def piece_bytes(piece: str) -> bytes:
    """The bytes that a vocabulary entry stands for.

    An entry with a character outside the alphabet is no byte-level entry: it stands for its own
    UTF-8, as the decoder of the `tokenizers` library has it.
    """
    try:
        return bytes([_BYTE_OF[character] for character in piece])
    except KeyError:
        return piece.encode("utf-8", "replace")
