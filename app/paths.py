"""Where everything lies: the profile's folders, and the files that come with the app.

The only user of platformdirs. With `--profile DIR` everything of the user lies under DIR.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from engine.errors import FolderNotWritable

APP_NAME = "thinkpane"


@dataclass(frozen=True, slots=True)
class Paths:
    """The folders of one profile; `ensure_folders` makes them."""

    data_dir: Path
    cache_dir: Path
    logs_dir: Path

    @property
    def models_dir(self) -> Path:
        """Downloaded models, one folder each; these are data, not a cache to be emptied."""
        return self.data_dir / "models"

    @property
    def kernel_cache_dir(self) -> Path:
        """Compiled CUDA kernels (CUPY_CACHE_DIR); its files are loaded as code, so it is ours."""
        return self.cache_dir / "cuda-kernels"

    @property
    def database_file(self) -> Path:
        """The chats."""
        return self.data_dir / "chats.db"

    @property
    def settings_file(self) -> Path:
        """Settings, added models and window state."""
        return self.data_dir / "settings.json"

    @property
    def lock_file(self) -> Path:
        """Held by the one running instance."""
        return self.data_dir / "instance.lock"

    @property
    def load_marker_file(self) -> Path:
        """Exists while a model is being loaded; left over only when the process died of it."""
        return self.data_dir / "loading.json"

    @property
    def log_file(self) -> Path:
        """The newest log; older ones carry a number."""
        return self.logs_dir / "thinkpane.log"


def paths_for(profile: Path | None) -> Paths:
    """The folders under `profile`, or the system's usual places for None."""
    if profile is not None:
        root = profile.expanduser().absolute()
        return Paths(root, root / "cache", root / "logs")
    dirs = platformdirs.PlatformDirs(APP_NAME, appauthor=False, roaming=False)
    return Paths(dirs.user_data_path, dirs.user_cache_path, dirs.user_log_path)


def ensure_folders(paths: Paths) -> None:
    """Make the folders, readable by the user alone.

    Raises:
        FolderNotWritable: one cannot be made or written to.
    """
    for folder in (paths.data_dir, paths.models_dir, paths.cache_dir, paths.logs_dir):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = folder / ".write-test"
            probe.touch()
            probe.unlink()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise FolderNotWritable(str(folder), reason, error.errno) from error
    try:
        paths.kernel_cache_dir.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FolderNotWritable(str(paths.kernel_cache_dir), reason, error.errno) from error


def resource_dir() -> Path:
    """Folder of icons, styles and models that come with the app, also in a frozen build."""
    frozen = getattr(sys, "_MEIPASS", None)
    base = Path(frozen) if frozen else Path(__file__).resolve().parents[1]
    return base / "resources"
