"""Text files dragged into a question: read, refused by name, counted by the tokenizer, sent."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from app.attached_file import (
    MAX_FILE_BYTES,
    AttachedFile,
    FileNotReadable,
    FileTooLarge,
    NotText,
    fenced,
    question_with,
    read_attachment,
)
from app.attachments import MAX_FILES, Attachments, count_tokens_of
from app.chat_view import Attachment
from app.engine_events import ModelLoaded
from engine.api import ChatMessage, GenerationControl, Role
from engine.open_engine import open_engine
from engine.scripted_engine import scripted_info
from tests.app.fakes import Desk

RESOURCES = Path(__file__).resolve().parents[2] / "resources"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "profile").mkdir()
    return Desk(tmp_path / "profile").with_model()


@pytest.fixture
def attachments(desk: Desk) -> Attachments:
    return Attachments(desk.view, desk.ports, desk.jobs, submit=desk.chat.on_submitted)


def file_of(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_a_file_is_shown_with_its_tokens_before_anything_is_sent(desk, attachments, tmp_path):
    attachments.on_files_dropped([file_of(tmp_path, "notes.txt", "Some notes.\n")])
    # The fake engine counts a token per character.
    tokens = len('\n\nFile "notes.txt":\n\n```\nSome notes.\n```')
    assert desk.view.attachments == [Attachment("notes.txt", tokens, 12)]
    assert desk.engine.requests == []


def test_its_text_goes_into_the_question_in_a_fence_with_its_name(desk, attachments, tmp_path):
    paths = [
        file_of(tmp_path, "notes.txt", "Some notes.\r\nMore.\r\n"),
        file_of(tmp_path, "x.py", "x = 1"),
    ]
    attachments.on_files_dropped(paths)
    attachments.on_submitted("What is this?")
    [message] = desk.request.messages
    assert message == ChatMessage(
        Role.USER,
        'What is this?\n\nFile "notes.txt":\n\n```\nSome notes.\nMore.\n```\n\n'
        'File "x.py":\n\n```py\nx = 1\n```',
    )
    assert desk.view.attachments == [], "they were sent"
    assert desk.chats.shown.title == "What is this?"


def test_a_file_can_be_sent_without_a_word(desk, attachments, tmp_path):
    attachments.on_files_dropped([file_of(tmp_path, "notes.txt", "Some notes.")])
    attachments.on_submitted("")
    assert desk.request.messages[0].text.startswith('File "notes.txt":')
    assert desk.chats.shown.title == "notes.txt"


def test_a_file_can_be_taken_out_again(desk, attachments, tmp_path):
    for name in ("a.txt", "b.txt"):
        attachments.on_files_dropped([file_of(tmp_path, name, name)])
    attachments.on_removed(0)
    assert [each.name for each in desk.view.attachments] == ["b.txt"]
    attachments.on_removed(5)
    attachments.on_submitted("q?")
    assert "a.txt" not in desk.request.messages[0].text


def test_files_stay_with_their_chat(desk, attachments, tmp_path):
    desk.ask("One?")
    one = desk.chats.shown_id
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "a")])
    desk.chats.on_new_chat()
    assert desk.view.attachments == []
    desk.chats.on_conversation_selected(one)
    assert [each.name for each in desk.view.attachments] == ["a.txt"]


def test_a_file_read_late_lands_in_the_chat_it_was_dropped_on(desk, attachments, tmp_path):
    desk.ask("One?")
    one = desk.chats.shown_id
    desk.jobs.held = []
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "a")])
    held, desk.jobs.held = desk.jobs.held, None
    desk.chats.on_new_chat()
    for job in held:
        job()
    assert desk.view.attachments == []
    desk.chats.on_conversation_selected(one)
    assert [each.name for each in desk.view.attachments] == ["a.txt"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("photo.png", b"\x89PNG\r\n\x1a\n\x00\x00"),
        ("program", b"\x7fELF\x02\x01\x01\x00"),
        ("old.txt", "Müller".encode("latin-1")),
        ("archive.zip", b"PK\x03\x04text"),
        ("zeros.txt", bytes(100)),
        ("odd.txt", b"\xff\xfea"),
    ],
)
def test_what_is_no_text_is_refused_by_name(desk, attachments, tmp_path, name, content):
    with pytest.raises(NotText):
        read_attachment(Path(file_of(tmp_path, name, content)))
    attachments.on_files_dropped([str(tmp_path / name)])
    assert desk.view.notices["attach"].text.startswith(f"{name} is no text file")
    assert desk.view.attachments == []


def test_what_is_too_large_or_cannot_be_read_is_refused_by_name(desk, attachments, tmp_path):
    large = file_of(tmp_path, "large.log", b"x" * (MAX_FILE_BYTES + 1))
    with pytest.raises(FileTooLarge) as told:
        read_attachment(Path(large))
    assert (told.value.found_bytes, told.value.limit_bytes) == (MAX_FILE_BYTES + 1, MAX_FILE_BYTES)
    attachments.on_files_dropped([large])
    assert desk.view.notices["attach"].text.startswith("large.log has 512 KB")
    for path in (tmp_path / "nowhere.txt", tmp_path):
        with pytest.raises(FileNotReadable):
            read_attachment(path)
    attachments.on_files_dropped([str(tmp_path / "nowhere.txt")])
    assert desk.view.notices["attach"].text.startswith("nowhere.txt could not be read")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotReadable):
        read_attachment(tmp_path / "pipe")


def test_many_files_or_very_long_ones_are_refused(desk, attachments, tmp_path):
    paths = [file_of(tmp_path, f"{n}.txt", "text") for n in range(MAX_FILES + 1)]
    attachments.on_files_dropped(paths)
    assert len(desk.view.attachments) == MAX_FILES
    assert f"{MAX_FILES}.txt was not added" in desk.view.notices["attach"].text
    desk.ask("Elsewhere")
    desk.chats.on_new_chat()
    paths = [file_of(tmp_path, f"{n}.log", "x" * 450_000) for n in range(3)]
    attachments.on_files_dropped(paths)
    assert len(desk.view.attachments) == 2
    assert "2.log was not added" in desk.view.notices["attach"].text


def test_files_that_the_model_cannot_see_at_once_are_marked(desk, attachments, tmp_path):
    capacity = desk.models.info.capacity_tokens
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "x" * (capacity // 2))])
    assert [each.fits for each in desk.view.attachments] == [True]
    attachments.on_files_dropped([file_of(tmp_path, "b.txt", "x" * (capacity // 2))])
    assert [each.fits for each in desk.view.attachments] == [False, False]


def test_what_the_chat_already_holds_counts_too(desk, attachments, tmp_path):
    capacity = desk.models.info.capacity_tokens
    desk.chat.on_submitted("One?")
    desk.say("", "Yes.")
    desk.finish(prompt_tokens=capacity - 100, context_tokens=capacity - 98)
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "x" * 200)])
    assert [each.fits for each in desk.view.attachments] == [False]
    desk.chats.on_new_chat()
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "x" * 200)])
    assert [each.fits for each in desk.view.attachments] == [True]


def test_without_a_model_the_tokens_are_counted_once_there_is_one(tmp_path):
    (tmp_path / "profile").mkdir()
    desk = Desk(tmp_path / "profile").with_model(ready=False)
    desk.engine.loaded = False
    attachments = Attachments(desk.view, desk.ports, desk.jobs, submit=desk.chat.on_submitted)
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "text")])
    assert desk.view.attachments == [Attachment("a.txt", None, 4)]
    attachments.tick()
    assert desk.view.attachments[0].tokens is None
    desk.engine.loaded = True
    desk.models.load_at_start()
    load_id = desk.engine.loads[-1][0].load_id
    desk.models.on_worker_event(ModelLoaded(load_id, scripted_info()))
    attachments.tick()
    assert desk.view.attachments[0].tokens == len('\n\nFile "a.txt":\n\n```\ntext\n```')


def test_another_model_counts_its_own_tokens(desk, attachments, tmp_path):
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "text")])
    attachments.tick()
    before = desk.view.attachments[0].tokens
    desk.engine.tokens_per_character = 2
    attachments.tick()
    assert desk.view.attachments[0].tokens == before, "nothing is counted twice by one model"
    desk.models.reload()
    load_id = desk.engine.loads[-1][0].load_id
    other = replace(scripted_info(), model="another")
    desk.models.on_worker_event(ModelLoaded(load_id, other))
    attachments.tick()
    assert desk.view.attachments[0].tokens == 2 * before


@pytest.mark.parametrize(
    "text",
    ["plain", "```\ncode\n```", "````\n```\n````", "~~~\nx\n~~~", "", "\n\n", "ends with `````"],
)
def test_no_text_closes_its_own_fence(text):
    tokens = MarkdownIt().parse(fenced(AttachedFile("a.py", text)))
    [fence] = [token for token in tokens if token.type == "fence"]
    assert fence.content.rstrip("\n") == text.rstrip("\n")
    assert tokens[-1] is fence


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a`b.txt", "ab.txt"), ("evil\u202etxt.exe", "eviltxt.exe"), ("a\nb.md", "ab.md")],
)
def test_a_name_cannot_disguise_itself(tmp_path, name, shown):
    assert read_attachment(Path(file_of(tmp_path, name, "text"))).name == shown


def test_byte_order_marks_are_understood(tmp_path):
    for encoding in ("utf-8-sig", "utf-16"):
        path = file_of(tmp_path, "a.txt", "Grüße 天空".encode(encoding))
        assert read_attachment(Path(path)).text == "Grüße 天空"


def test_coloured_logs_are_text(tmp_path):
    path = file_of(tmp_path, "a.log", b"\x1b[31mred\x1b[0m\n")
    assert "red" in read_attachment(Path(path)).text


def test_a_question_without_files_is_left_alone():
    assert question_with("  as it is ", []) == "  as it is "


def test_the_count_is_what_the_question_grows_by_in_a_real_tokenizer():
    engine = open_engine(RESOURCES / "demo_model", "cpu", 512)
    try:
        for _ in engine.load(GenerationControl()):
            pass
        file = AttachedFile("notes.txt", "What is 17 + 25? 天空 😀\n" * 5)
        alone, whole = (
            engine.count_tokens([ChatMessage(Role.USER, question_with("Read this.", files))])
            for files in ([], [file])
        )
        assert count_tokens_of(file, engine) == whole - alone
    finally:
        engine.close()
