"""A cleaned cache takes no chat, no model and no setting along (LM#996)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.paths import Paths, ensure_folders, paths_for


@pytest.mark.parametrize("profile", [None, Path("/somewhere/profile")], ids=["usual", "own"])
def test_nothing_that_is_the_users_lies_in_a_cache(profile):
    paths = paths_for(profile)
    for kept in (paths.database_file, paths.settings_file, paths.models_dir, paths.log_file):
        assert not kept.is_relative_to(paths.cache_dir)
        assert "cache" not in [part.strip(".").lower() for part in kept.parts]
    assert paths.kernel_cache_dir.is_relative_to(paths.cache_dir)


def test_the_folders_are_made_again_after_the_cache_was_cleaned(tmp_path):
    paths: Paths = paths_for(tmp_path)
    ensure_folders(paths)
    paths.database_file.write_text("chats")
    shutil.rmtree(paths.cache_dir)
    ensure_folders(paths)
    assert paths.kernel_cache_dir.is_dir()
    assert paths.database_file.read_text() == "chats"
