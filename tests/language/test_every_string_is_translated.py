"""No sentence of the program escapes translation, and every translation is there and fits."""

from __future__ import annotations

import ast
import re
import string
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import PySide6
import pytest
from PySide6.QtCore import QTranslator

from app.settings import FIELDS, SECTIONS, SETTINGS_CONTEXT
from app.ui.shortcuts import KEYS
from app.wizard_answer import QUESTION

ROOT = Path(__file__).resolve().parents[2]
TABLES = sorted((ROOT / "resources" / "translations").glob("*.ts"))
MARKS = {"tr", "translate", "QT_TRANSLATE_NOOP"}

SPOKEN_TO_PROGRAMS = {
    "app/main.py": "the command line is English",
    "app/self_test.py": "prints one line for a terminal",
    "app/engine_builder.py": "written replies of the scripted engine",
    "app/logging_setup.py": "the log",
    "app/conversation_json.py": "what an import expected, for the log; people are told the place",
    "app/conversation_schema.py": "SQL",
    "app/conversation_index.py": "SQL",
    "app/ui/warm_up.py": "is drawn where nobody sees it",
}
SAID_TO_MODELS = {QUESTION}
TAKES_NO_WORDS = {
    # Calls whose strings nobody reads: names, SQL, the log, errors that error_text words anew.
    *("debug", "info", "warning", "error", "exception", "critical"),
    *("execute", "executescript", "executemany", "compile", "getattr", "setattr", "TypeVar"),
    *("setProperty", "setObjectName", "set_role", "field", "noqa", "Path", "named"),
}
SENTENCE = re.compile(r"[A-Za-z]{2,},? [A-Za-z(]")
NOT_FOR_PEOPLE = re.compile(
    r"^(PRAGMA|SELECT|INSERT|UPDATE|DELETE|CREATE|BEGIN)\b"  # SQL
    r"|\\\\"  # LaTeX
    r"|^[a-z]+_?[a-z_ ]*_[a-z_ ]+$"  # names of signals
)
WORD_TAKERS = {
    *("setText", "setToolTip", "setAccessibleName", "setAccessibleDescription", "setWindowTitle"),
    *("setPlaceholderText", "addAction", "addMenu", "label", "TextButton", "IconButton", "Notice"),
    *("setTitle", "set_full_text", "Meter", "QMenu", "confirm"),
}
NAMES = {"Thinkpane", "GPU"}


def literals(path: Path) -> Iterator[tuple[ast.expr, str, list[ast.AST]]]:
    """Every string of a module that is no docstring: (node, text, what is around it)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    around: dict[ast.AST, ast.AST] = {
        child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if isinstance(around[node], ast.Expr | ast.JoinedStr | ast.FormattedValue):
            continue
        above: list[ast.AST] = []
        at: ast.AST = node
        while not isinstance(at, ast.stmt):
            at = around[at]
            above.append(at)
        yield node, text, above


def called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def unwrapped(path: Path) -> Iterator[str]:
    for node, text, above in literals(path):
        calls = [name for each in above if (name := called(each))]
        if set(calls) & (MARKS | TAKES_NO_WORDS):
            continue
        if any(isinstance(each, ast.Raise | ast.Assert | ast.Compare) for each in above):
            continue
        if "__init__" in calls and "ui" not in path.parts:
            continue  # an exception's own words, which `app.error_text` says anew
        if any(isinstance(each, ast.keyword) and each.arg == "section" for each in above):
            continue
        said = bool(SENTENCE.search(text)) and not NOT_FOR_PEOPLE.search(text)
        word = bool(calls) and calls[0] in WORD_TAKERS and re.search(r"^[A-Z][a-z]", text)
        if (said or word) and text not in NAMES | SAID_TO_MODELS:
            yield f"{path.name}:{node.lineno}: {text[:70]!r}"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "app").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_words_for_people_go_through_translation(path: Path) -> None:
    if str(path.relative_to(ROOT)) in SPOKEN_TO_PROGRAMS:
        return
    found = list(unwrapped(path))
    assert not found, "not wrapped in tr, translate or QT_TRANSLATE_NOOP: " + "; ".join(found)


def test_translated_text_is_written_out_where_it_is_wrapped() -> None:
    """lupdate reads literals only; f-strings and sums would silently stay English."""
    wrong = []
    for path in sorted((ROOT / "app").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = called(node)
            of_str = name == "translate" and isinstance(node.func, ast.Attribute)
            if name in MARKS and not of_str:
                text = node.args[0 if name == "tr" else 1]
                if isinstance(text, ast.JoinedStr | ast.BinOp):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not wrong


def messages(table: Path) -> list[tuple[str, str, str, bool]]:
    """(context, source, translation, finished) of every entry."""
    return [
        (
            context.findtext("name", ""),
            message.findtext("source", ""),
            message.findtext("translation", ""),
            message.find("translation").get("type") is None,  # type: ignore[union-attr]
        )
        for context in ET.parse(table).getroot().iter("context")
        for message in context.iter("message")
    ]


def fresh_sources(folder: Path) -> set[tuple[str, str]]:
    """What lupdate finds in the program now."""
    table = folder / "fresh.ts"
    tool = Path(PySide6.__file__).parent / "lupdate"
    files = [str(path) for path in sorted((ROOT / "app").rglob("*.py"))]
    subprocess.run([tool, "-silent", *files, "-ts", table], check=True)
    return {(context, source) for context, source, _, _ in messages(table)}


def test_each_string_of_the_program_has_a_finished_translation(tmp_path: Path) -> None:
    fresh = fresh_sources(tmp_path)
    assert len(fresh) > 400
    for table in TABLES:
        finished = {(c, s) for c, s, text, done in messages(table) if done and text.strip()}
        assert not fresh - finished, f"{table.name}: run `make translations` and translate"
        assert not finished - fresh, f"{table.name}: no longer in the program"


def placeholders(text: str) -> list[str]:
    """Each with its format, sorted."""
    fields = string.Formatter().parse(text)
    return sorted(
        f"{name}!{conversion}:{spec}" for _, name, spec, conversion in fields if name is not None
    )


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_translations_keep_placeholders_and_mean_something(table: Path) -> None:
    for context, source, text, _ in messages(table):
        assert placeholders(text) == placeholders(source), f"{context}: {source}"
        assert "\ufffd" not in text
        may_be_same = source in NAMES | {"NVIDIA GPU"} or "(*." in source
        assert text != source or not SENTENCE.search(source) or may_be_same, source


def test_compiled_tables_say_what_the_sources_say() -> None:
    """Whatever version of Qt compiled them."""
    for table in TABLES:
        compiled = QTranslator()
        assert compiled.load(str(table.with_suffix(".qm")))
        wrong = [
            source
            for context, source, text, _ in messages(table)
            if compiled.translate(context, source) != text
        ]
        assert not wrong, f"{table.name}: run `make translations`"


def test_declared_texts_are_marked_in_the_context_they_are_shown_in() -> None:
    (table,) = TABLES
    known = {(context, source) for context, source, _, _ in messages(table)}
    words = [*SECTIONS]
    for field in FIELDS:
        words += [field.label, field.help, *([field.none_label] if field.none_label else [])]
        words += [word for _, word in field.choices if word not in ("English", "简体中文")]
    assert not {(SETTINGS_CONTEXT, word) for word in words} - known
    assert not {("Shortcuts", word) for key in KEYS for word in (key.place, key.meaning)} - known


@pytest.mark.parametrize(
    "planted",
    [
        'window.setText(f"The {window} is on fire.")',
        'Notice("key", "It is " + "on fire now.")',
        'TextButton("Fire")',
        'actions = (("retry", "Try it again"),)',
    ],
)
def test_a_planted_sentence_is_found(planted: str, tmp_path: Path) -> None:
    module = tmp_path / "planted.py"
    module.write_text(f"def show(window):\n    {planted}\n", encoding="utf-8")
    assert list(unwrapped(module))


def test_chinese_speaks_to_the_user_in_one_way():
    """Some failures said 你, all else 您; what a model is asked is no sentence of the program."""
    familiar = [
        text
        for message in ET.parse(TABLES[0]).iter("message")
        if "你" in (text := message.findtext("translation") or "") and not text.startswith("“")
    ]
    assert familiar == []
