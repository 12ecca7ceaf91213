"""The random model of the benchmark: its shape, its made-up words, its replies that do not end."""

import numpy as np
import pytest

from engine.bench import random_model
from engine.bench.made_vocabulary import made_pieces
from engine.bench.random_model import (
    model_or_random,
    shape_config,
    shape_names,
    write_random_model,
)
from engine.models.host_tensor import to_float32
from engine.models.model_config import ModelConfig
from engine.models.model_files import open_model
from engine.models.weights import weight_blocks
from engine.text.tokenizer import Tokenizer
from tests.engine.models.tiny_model import tiny_config, write_tokenizer

VOCAB = 700


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    config = tiny_config() | {"vocab_size": VOCAB}
    return write_random_model(tmp_path_factory.mktemp("random") / "model", config)


def test_the_catalog_has_the_published_number_of_parameters():
    assert "qwen3-0.6b" in shape_names()
    config = ModelConfig.from_dict(shape_config("qwen3-0.6b"), "catalog")
    assert sum(block.size for block in weight_blocks(config)) == 596_049_920
    assert shape_config("qwen3-0.6b", layers=3)["num_hidden_layers"] == 3


def test_every_id_has_a_text_and_no_two_have_the_same(folder):
    tokenizer = Tokenizer.from_folder(folder)
    assert tokenizer.vocab_size == VOCAB
    texts = [tokenizer.token_bytes(token_id) for token_id in range(VOCAB)]
    assert all(texts)
    assert len(set(texts)) == VOCAB


def test_made_up_words_stay_apart_in_a_vocabulary_of_true_size():
    pieces = made_pieces(151_931)
    assert len(pieces) == len(set(pieces)) == 151_931


def test_words_are_as_long_as_those_of_a_real_vocabulary(folder):
    tokenizer = Tokenizer.from_folder(folder)
    lengths = [len(tokenizer.token_bytes(token_id)) for token_id in range(256, VOCAB - 5)]
    assert 4 <= np.mean(lengths) <= 7  # Qwen3's have 6.4 bytes on average


def test_weights_are_spread_as_asked_and_the_rows_of_end_tokens_are_zero(folder):
    files = open_model(folder)
    stops = Tokenizer.from_folder(folder).stop_token_ids
    embedding = to_float32(files.tensor("model.embed_tokens.weight"))
    silent = np.flatnonzero(~embedding.any(1))
    # The config names another end token than the tokenizer: all of them are silent.
    assert set(silent) == set(stops)
    assert len(stops) == 3
    assert embedding.std() == pytest.approx(0.02, rel=0.05)
    query = to_float32(files.tensor("model.layers.1.self_attn.q_proj.weight"))
    assert query.std() == pytest.approx(0.02, rel=0.05)
    assert abs(query.mean()) < 0.001
    norm = to_float32(files.tensor("model.layers.0.input_layernorm.weight"))
    assert 0.5 <= norm.min() < 0.7 < 1.3 < norm.max() <= 1.5


def test_blocks_of_a_large_matrix_differ(tmp_path, monkeypatch):
    monkeypatch.setattr(random_model, "_BLOCK_VALUES", 64 * 8)
    files = open_model(write_random_model(tmp_path / "m", tiny_config()))
    rows = to_float32(files.tensor("model.layers.0.mlp.up_proj.weight"))
    assert len(np.unique(rows, axis=0)) == len(rows)


def test_a_tokenizer_that_is_at_hand_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(random_model, "shape_config", lambda name, layers: tiny_config())
    given = tmp_path / "given"
    given.mkdir()
    write_tokenizer(given)
    with model_or_random(None, tokenizer=given) as model:
        assert (model / "tokenizer.json").read_bytes() == (given / "tokenizer.json").read_bytes()
        made = model
    assert not made.exists()
    with model_or_random(tmp_path) as model:
        assert model == tmp_path
