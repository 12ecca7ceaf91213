"""Proof 7 for config.json and the index: damage ends in one typed error (`-s` prints times)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import BadModelFile
from engine.models.model_files import open_model
from tests.engine.models.hostile import check_mutations, refused
from tests.engine.models.tiny_model import make_tiny_model


@pytest.mark.parametrize("cut", [0, 1, 40, 200])
def test_config_and_index_cut_anywhere_are_refused(tmp_path: Path, cut: int) -> None:
    model = make_tiny_model(tmp_path, shards=2)
    for name in ("model.safetensors.index.json", "config.json"):
        path = model / name
        path.write_bytes(path.read_bytes()[:cut])
        assert isinstance(refused(model, f"{name} cut at {cut}"), BadModelFile)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
def test_flipped_bits_in_json_never_give_another_exception(tmp_path: Path, name: str) -> None:
    model = make_tiny_model(tmp_path, shards=2)
    path = model / name
    content = path.read_bytes()
    check_mutations(model, path, content, len(content), open_model(model))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
def test_huge_json_is_refused_unread(tmp_path: Path, name: str) -> None:
    model = make_tiny_model(tmp_path, shards=2)
    with (model / name).open("wb") as file:
        file.write(b"{")
        file.truncate(1 << 30)
    assert "expected at most" in str(refused(model, f"{name} of 1 GB"))
