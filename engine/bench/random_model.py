"""A model folder of random weights in the shape of a model of the catalog.

Speed does not depend on the values of the weights, so none need to be fetched. One thing is not
random: the rows of the embedding that belong to end tokens are zero. Their logits are then 0 in a
model whose embedding is tied, far below the twenty highest of so many random ones, so that replies
run to the length that is asked for.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.bench.made_vocabulary import write_made_tokenizer
from engine.models.json_file import read_json_object
from engine.models.model_config import ModelConfig
from engine.models.weights import WeightPart, weight_blocks
from engine.text.tokenizer import Tokenizer

CATALOG = Path(__file__).resolve().parents[2] / "resources" / "catalog"

DEFAULT_SHAPE = "qwen3-0.6b"

SPREAD = 0.02
"""Standard deviation of a matrix, as transformers initialises one."""

_BLOCK_VALUES = 1 << 22
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "generation_config.json")
_CONFIG_LIMIT_BYTES = 1 << 20


def shape_names() -> tuple[str, ...]:
    """Models whose shape can be asked for."""
    return tuple(sorted(path.parent.name for path in CATALOG.glob("*/config.json")))


def shape_config(name: str, layers: int | None = None) -> dict[str, object]:
    """Parsed config.json of a model of the catalog, with another number of layers if asked."""
    path = CATALOG / name / "config.json"
    config = read_json_object(path, _CONFIG_LIMIT_BYTES, "the shape of the random model")
    return {**config, **({} if layers is None else {"num_hidden_layers": layers})}


@contextmanager
def model_or_random(
    path: Path | None,
    name: str = DEFAULT_SHAPE,
    layers: int | None = None,
    tokenizer: Path | None = None,
) -> Iterator[Path]:
    """`path`, or a temporary folder of random weights in the shape of a model of the catalog."""
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="thinkpane-bench-") as folder:
        config = shape_config(name, layers)
        yield write_random_model(Path(folder) / f"random-{name}", config, tokenizer)


def write_random_model(
    folder: Path, config: dict[str, object], tokenizer: Path | None = None, seed: int = 0
) -> Path:
    """Write config.json, the tokenizer's files and bf16 weights; returns the folder.

    `tokenizer` is a folder whose tokenizer files are copied; without it words are made up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    parsed = ModelConfig.from_dict(config, str(folder / "config.json"))
    if tokenizer is None:
        write_made_tokenizer(folder, parsed.vocab_size)
    else:
        for name in _TOKENIZER_FILES:
            if (tokenizer / name).is_file():
                shutil.copyfile(tokenizer / name, folder / name)
    silent = Tokenizer.from_folder(folder).stop_token_ids
    parts = [part for block in weight_blocks(parsed) for part in block.parts]
    _write_safetensors(folder / "model.safetensors", parts, silent, seed)
    return folder


def _write_safetensors(
    path: Path, parts: list[WeightPart], silent_ids: frozenset[int], seed: int
) -> None:
    header: dict[str, object] = {}
    position = 0
    for part in parts:
        nbytes = 2 * int(np.prod(part.shape))
        offsets = [position, position + nbytes]
        header[part.name] = {"dtype": "BF16", "shape": part.shape, "data_offsets": offsets}
        position += nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file, ThreadPoolExecutor() as pool:
        file.write(len(text).to_bytes(8, "little") + text)
        # NumPy draws outside the GIL.
        for values in pool.map(_drawn, _pieces(parts, silent_ids, seed)):
            file.write(values.data)


Piece = tuple[tuple[int, int, int], bool, int, int, list[int]]
"""Seed; whether of a norm; rows, columns, and the rows among them that are zero."""


def _pieces(parts: list[WeightPart], silent_ids: frozenset[int], seed: int) -> Iterator[Piece]:
    for number, part in enumerate(parts):
        is_norm = len(part.shape) == 1
        rows, columns = (1, *part.shape)[-2:]
        step = max(1, _BLOCK_VALUES // columns)
        silent = silent_ids if "embed_tokens" in part.name or "lm_head" in part.name else ()
        for first in range(0, rows, step):
            count = min(step, rows - first)
            zero = [row - first for row in silent if first <= row < first + count]
            yield (seed, number, first), is_norm, count, columns, zero


def _drawn(piece: Piece) -> NDArray[np.uint16]:
    """Bf16 bits: matrices around 0, norms from 0.5 to 1.5 (at 1 they would hide their absence)."""
    seed, is_norm, rows, columns, zero_rows = piece
    generator = np.random.default_rng(seed)
    values = (
        generator.random((rows, columns), np.float32) + np.float32(0.5)
        if is_norm
        else generator.standard_normal((rows, columns), np.float32) * np.float32(SPREAD)
    )
    values[zero_rows] = 0
    # Cutting off is as good as rounding: the values are random anyway.
    bits: NDArray[np.uint16] = (values.view(np.uint32) >> 16).astype(np.uint16)
    return bits
