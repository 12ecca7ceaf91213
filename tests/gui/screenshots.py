"""Draws every state of the window offscreen: `python -m tests.gui.screenshots FOLDER`.

Each scale runs in a process of its own, since Qt reads QT_SCALE_FACTOR once. The states are
scripted in `tests.gui.scenes`, through ChatView alone; in `tests.gui.demo_scenes` the demo model
itself answers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from app.language import CHINESE, ENGLISH, Language
from app.settings import Settings, WindowState, with_value
from app.ui.key_list import KeyList
from app.ui.main_window import MainWindow
from app.ui.theme import Theme
from tests.gui import chat_scenes, demo_scenes, doing_scenes, scenes, settings_scenes
from tests.gui.wizard_screenshots import wizard_screenshots

ROOT = Path(__file__).resolve().parents[2]
MAX_BYTES = 300_000
CLOSE = 14
EXACT_COLORS = 48


@dataclass(frozen=True)
class Shot:
    """One picture."""

    name: str
    scene: scenes.Scene
    scheme: str = "light"
    width: int = 1440
    height: int = 900
    scale: int = 1
    settings_open: bool = True
    font_size: int = 15
    language: str = ENGLISH


SHOTS = (
    Shot("empty-light", scenes.scene_empty),
    Shot("empty-dark", scenes.scene_empty, "dark"),
    Shot("demo-empty-light", demo_scenes.scene_demo_empty),
    Shot("demo-empty-dark", demo_scenes.scene_demo_empty, "dark"),
    Shot("demo-done-light", demo_scenes.scene_demo_done, settings_open=False),
    Shot("demo-done-dark", demo_scenes.scene_demo_done, "dark", settings_open=False),
    Shot("waiting-light", scenes.scene_waiting),
    Shot("thinking-light", demo_scenes.scene_demo_thinking),
    Shot("thinking-dark", demo_scenes.scene_demo_thinking, "dark"),
    Shot("answering-light", scenes.scene_answering),
    Shot("done-light", scenes.scene_done),
    Shot("done-dark", scenes.scene_done, "dark"),
    Shot("rich-light", scenes.scene_rich, height=1000, settings_open=False),
    Shot("rich-dark", scenes.scene_rich, "dark", height=1000, settings_open=False),
    Shot("everything-light", scenes.scene_everything, height=1900, settings_open=False),
    Shot("everything-dark", scenes.scene_everything, "dark", height=1900, settings_open=False),
    Shot("full-thinking-light", scenes.scene_full_thinking, settings_open=False),
    Shot("away-from-the-end-dark", scenes.scene_away_from_the_end, "dark", settings_open=False),
    Shot("chinese-light", scenes.scene_chinese),
    Shot("chinese-dark", scenes.scene_chinese, "dark"),
    Shot("stopped-light", scenes.scene_stopped),
    Shot("failed-light", scenes.scene_failed),
    Shot("failed-dark", scenes.scene_failed, "dark"),
    Shot("versions-light", scenes.scene_versions, settings_open=False),
    Shot("paused-light", demo_scenes.scene_demo_paused, settings_open=False),
    Shot("arrived-dark", demo_scenes.scene_demo_arrived, "dark", settings_open=False),
    Shot("settings-light", scenes.scene_settings, height=1000),
    Shot("settings-dark", scenes.scene_settings, "dark", height=1000),
    Shot("search-light", chat_scenes.scene_search, settings_open=False),
    Shot("search-dark", chat_scenes.scene_search, "dark", settings_open=False),
    Shot("search-versions-light", chat_scenes.scene_search_versions, settings_open=False),
    Shot("long-question-dark", chat_scenes.scene_long_question, "dark", settings_open=False),
    Shot("no-answer-light", chat_scenes.scene_no_answer, settings_open=False),
    Shot("zh-no-answer-dark", chat_scenes.scene_no_answer, "dark", language=CHINESE),
    Shot("pinned-light", chat_scenes.scene_pinned, settings_open=False),
    Shot("temporary-light", chat_scenes.scene_temporary, settings_open=False),
    Shot("temporary-empty-dark", chat_scenes.scene_temporary_empty, "dark", settings_open=False),
    Shot("trash-light", chat_scenes.scene_trash, settings_open=False),
    Shot("trash-question-dark", chat_scenes.scene_trash_question, "dark", settings_open=False),
    Shot("files-light", chat_scenes.scene_files, settings_open=False),
    Shot("files-too-long-dark", chat_scenes.scene_files_too_long, "dark", settings_open=False),
    Shot("files-narrow-light", chat_scenes.scene_files, width=600, height=800),
    Shot("long-paste-light", chat_scenes.scene_long_paste, settings_open=False),
    Shot("long-paste-narrow-dark", chat_scenes.scene_long_paste, "dark", width=480, height=800),
    Shot("no-gpu-light", scenes.scene_no_gpu, settings_open=False),
    Shot("loop-light", doing_scenes.scene_loop, settings_open=False),
    Shot("edit-answer-dark", doing_scenes.scene_edit_answer, "dark", settings_open=False),
    Shot("edit-thinking-light", doing_scenes.scene_edit_thinking),
    Shot("nearly-full-light", doing_scenes.scene_nearly_full, settings_open=False),
    Shot("deleted-dark", scenes.scene_deleted, "dark", settings_open=False),
    Shot("hidden-thinking-light", scenes.scene_hidden, settings_open=False),
    Shot("overlay-light", scenes.scene_list_open, width=860, height=700),
    Shot("narrow-light", scenes.scene_done, width=600, height=800),
    Shot("narrow-open-dark", scenes.scene_folded_open, "dark", width=480, height=800),
    Shot("large-text-light", scenes.scene_done, font_size=22),
    Shot("done-light-200", scenes.scene_done, width=900, height=560, scale=2, settings_open=False),
    Shot("preset-light", settings_scenes.scene_preset),
    Shot("preset-name-dark", settings_scenes.scene_preset_name, "dark"),
    Shot("settings-search-light", settings_scenes.scene_settings_search),
    Shot("keys-light", settings_scenes.scene_keys),
    Shot("zh-empty-light", scenes.scene_empty, language=CHINESE),
    Shot("zh-demo-empty-dark", demo_scenes.scene_demo_empty, "dark", language=CHINESE),
    Shot("zh-long-paste-light", chat_scenes.scene_long_paste, language=CHINESE),
    Shot("zh-chinese-light", scenes.scene_chinese, language=CHINESE),
    Shot("zh-chinese-dark", scenes.scene_chinese, "dark", language=CHINESE),
    Shot("zh-settings-dark", scenes.scene_settings, "dark", height=1000, language=CHINESE),
    Shot("zh-keys-dark", settings_scenes.scene_keys, "dark", language=CHINESE),
    Shot("done-light-300", scenes.scene_done, width=760, height=560, scale=3, settings_open=False),
    Shot("chinese-dark-200", scenes.scene_chinese, "dark", 900, 600, 2, settings_open=False),
)


def draw(shots: list[Shot], folder: Path) -> None:
    """Draw the pictures of one scale into the folder."""
    app = QApplication.instance() or QApplication([])
    language = Language(ROOT / "resources" / "translations")
    for shot in shots:
        language.use(shot.language)
        theme = Theme(ROOT / "resources")
        window = MainWindow(theme)
        window.resize(shot.width, shot.height)
        settings = with_value(Settings(), "theme", shot.scheme)
        settings = with_value(settings, "font_size", shot.font_size)
        settings = with_value(settings, "language", shot.language)
        scenes.furnish(window, with_value(settings, "thinking_budget_tokens", 2048))
        window.restore_window_state(WindowState(settings_collapsed=not shot.settings_open))
        window.show()
        app.processEvents()
        shot.scene(window)
        settled = time.monotonic() + 0.4
        while time.monotonic() < settled or window.transcript.is_behind:
            app.processEvents()
        shown = window.findChild(KeyList) or window
        save(shown.grab().toImage(), folder / f"{shot.name}.png")
        window.close()
        window.deleteLater()
        app.processEvents()
    language.use(ENGLISH)


def save(image: QImage, path: Path) -> None:
    """Write a PNG with a palette of its own commonest colours."""
    image.setDevicePixelRatio(1)
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    flat = Qt.ImageConversionFlag.ThresholdDither | Qt.ImageConversionFlag.AvoidDither
    image = image.convertToFormat(QImage.Format.Format_Indexed8, palette_of(image), flat)
    image.save(str(path), "PNG", 0)
    size = path.stat().st_size
    print(f"{path.name}: {image.width()} x {image.height()}, {size:,} bytes")
    if size > MAX_BYTES:
        raise SystemExit(f"{path} has {size:,} bytes; a picture may have {MAX_BYTES:,}")


def palette_of(image: QImage) -> list[int]:
    """256 colours of the image: the commonest first, then none close to another one before it."""
    pixels = np.frombuffer(image.constBits(), dtype=np.uint32)
    colors, counts = np.unique(pixels, return_counts=True)
    colors = colors[np.argsort(-counts)]
    channels = np.stack([(colors >> shift) & 255 for shift in (16, 8, 0)], axis=1).astype(int)
    chosen: list[int] = []
    open_colors = np.ones(len(colors), dtype=bool)
    while len(chosen) < 256 and open_colors.any():
        index = int(np.argmax(open_colors))
        reach = CLOSE if len(chosen) >= EXACT_COLORS else 0
        chosen.append(int(colors[index]))
        open_colors &= np.abs(channels - channels[index]).sum(axis=1) > reach
    return chosen


def main(arguments: list[str]) -> int:
    """Draw all, or with `--scale N` those of one scale; names after the folder choose some."""
    only_scale = int(arguments.pop(1)) if arguments[0] == "--scale" else 0
    if only_scale:
        arguments.pop(0)
    folder, names = Path(arguments[0]), arguments[1:]
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [shot for shot in SHOTS if not names or shot.name in names]
    if only_scale:
        draw([shot for shot in chosen if shot.scale == only_scale], folder)
        if only_scale == 1 and not names:
            for path in wizard_screenshots(folder):
                save(QImage(str(path)), path)
        return 0
    for scale in sorted({shot.scale for shot in chosen}):
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": str(scale)}
        command = [sys.executable, "-m", "tests.gui.screenshots", "--scale", str(scale)]
        subprocess.run([*command, str(folder), *names], cwd=ROOT, env=environment, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
