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
from app.attachments import MAX_FILES, MAX_INLINE_CHARS, MAX_QUESTION_CHARS, Attachments
from app.chat_view import Attached, Attachment
from app.engine_events import ModelLoaded, ModelUnloaded
from app.error_text import CHOOSE_MODEL
from app.token_counting import count_text
from engine.api import ChatMessage, GenerationControl, Role
from engine.errors import BadModelFile
from engine.open_engine import open_engine
from engine.scripted_engine import scripted_info
from tests.app.fakes import Desk
from tests.app.test_model_controller import actions

RESOURCES = Path(__file__).resolve().parents[2] / "resources"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "profile").mkdir()
    return Desk(tmp_path / "profile").with_model()


@pytest.fixture
def attachments(desk: Desk) -> Attachments:
    return desk.attachments


def file_of(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_a_file_is_shown_with_its_tokens_before_anything_is_sent(desk, attachments, tmp_path):
    attachments.on_files_dropped([file_of(tmp_path, "notes.txt", "Some notes.\n")])
    # The fake engine counts a token per character.
    tokens = len('\n\nFile "notes.txt":\n\n```\nSome notes.\n```')
    assert desk.view.attached.files == (Attachment("notes.txt", tokens, 12),)
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
    assert desk.view.attached.files == (), "they were sent"
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
    assert [each.name for each in desk.view.attached.files] == ["b.txt"]
    attachments.on_removed(5)
    attachments.on_submitted("q?")
    assert "a.txt" not in desk.request.messages[0].text


def test_files_stay_with_their_chat(desk, attachments, tmp_path):
    desk.ask("One?")
    one = desk.chats.shown_id
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "a")])
    desk.chats.on_new_chat()
    assert desk.view.attached.files == ()
    desk.chats.on_conversation_selected(one)
    assert [each.name for each in desk.view.attached.files] == ["a.txt"]


def test_a_file_read_late_lands_in_the_chat_it_was_dropped_on(desk, attachments, tmp_path):
    desk.ask("One?")
    one = desk.chats.shown_id
    desk.jobs.held = []
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "a")])
    held, desk.jobs.held = desk.jobs.held, None
    desk.chats.on_new_chat()
    for job in held:
        job()
    assert desk.view.attached.files == ()
    desk.chats.on_conversation_selected(one)
    assert [each.name for each in desk.view.attached.files] == ["a.txt"]


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
    assert desk.view.attached.files == ()


def test_what_is_too_large_or_cannot_be_read_is_refused_by_name(desk, attachments, tmp_path):
    large = file_of(tmp_path, "large.log", b"x" * (MAX_FILE_BYTES + 1))
    with pytest.raises(FileTooLarge) as told:
        read_attachment(Path(large))
    assert (told.value.found_bytes, told.value.limit_bytes) == (MAX_FILE_BYTES + 1, MAX_FILE_BYTES)
    attachments.on_files_dropped([large])
    assert desk.view.notices["attach"].text.startswith("large.log has 8,192 KB")
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
    assert len(desk.view.attached.files) == MAX_FILES
    assert f"{MAX_FILES}.txt was not added" in desk.view.notices["attach"].text
    desk.ask("Elsewhere")
    desk.chats.on_new_chat()
    paths = [file_of(tmp_path, f"{n}.log", "x" * (MAX_QUESTION_CHARS * 3 // 7)) for n in range(3)]
    attachments.on_files_dropped(paths)
    assert len(desk.view.attached.files) == 2
    assert "2.log was not added" in desk.view.notices["attach"].text


def test_files_that_the_model_cannot_see_at_once_are_marked(desk, attachments, tmp_path):
    capacity = desk.models.info.capacity_tokens
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "x" * (capacity // 2))])
    assert [each.fits for each in desk.view.attached.files] == [True]
    attachments.on_files_dropped([file_of(tmp_path, "b.txt", "x" * (capacity // 2))])
    assert [each.fits for each in desk.view.attached.files] == [False, False]


def test_what_the_chat_already_holds_counts_too(desk, attachments, tmp_path):
    capacity = desk.models.info.capacity_tokens
    desk.chat.on_submitted("One?")
    desk.say("", "Yes.")
    desk.finish(prompt_tokens=capacity - 100, context_tokens=capacity - 98)
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "x" * 200)])
    assert [each.fits for each in desk.view.attached.files] == [False]
    desk.chats.on_new_chat()
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "x" * 200)])
    assert [each.fits for each in desk.view.attached.files] == [True]


def test_without_a_model_the_tokens_are_counted_once_there_is_one(tmp_path):
    (tmp_path / "profile").mkdir()
    desk = Desk(tmp_path / "profile").with_model(ready=False)
    desk.engine.loaded = False
    attachments = desk.attachments
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "text")])
    assert desk.view.attached.files == (Attachment("a.txt", None, 4),)
    attachments.tick()
    assert desk.view.attached.files[0].tokens is None
    desk.engine.loaded = True
    desk.models.load_at_start()
    load_id = desk.engine.loads[-1][0].load_id
    desk.models.on_worker_event(ModelLoaded(load_id, scripted_info()))
    attachments.tick()
    assert desk.view.attached.files[0].tokens == len('\n\nFile "a.txt":\n\n```\ntext\n```')


def test_another_model_counts_its_own_tokens(desk, attachments, tmp_path):
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "text")])
    attachments.tick()
    before = desk.view.attached.files[0].tokens
    desk.engine.tokens_per_character = 2
    attachments.tick()
    assert desk.view.attached.files[0].tokens == before, "nothing is counted twice by one model"
    desk.models.reload()
    load_id = desk.engine.loads[-1][0].load_id
    other = replace(scripted_info(), model="another")
    desk.models.on_worker_event(ModelLoaded(load_id, other))
    attachments.tick()
    assert desk.view.attached.files[0].tokens == 2 * before


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
        assert count_text(f"\n\n{fenced(file)}", engine) == whole - alone
    finally:
        engine.close()


LONG = "Заголовок\r\nline two\x00 ends\r" + "word " * 400


def test_a_long_paste_goes_with_the_question_like_a_file(desk, attachments):
    attachments.on_pasted(LONG)
    clean = LONG.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "␀")
    [shown] = desk.view.attached.files
    assert shown.name == "Pasted text"
    assert shown.size_bytes == len(clean.encode())
    assert shown.tokens == len(f'\n\nFile "Pasted text":\n\n```\n{clean}\n```')


def test_nothing_of_a_paste_is_lost_on_its_way_to_the_model(desk, attachments):
    attachments.on_pasted("one\r\ntwo\rthree \x00\x1b \ud800 שלום")
    attachments.on_pasted("one\r\ntwo\rthree \x00\x1b \ud800 שלום")
    attachments.on_submitted("Compare.")
    [message] = desk.request.messages
    fence = "```\none\ntwo\nthree ␀\x1b ? שלום\n```"
    assert message.text == (
        f'Compare.\n\nFile "Pasted text":\n\n{fence}\n\nFile "Pasted text 2":\n\n{fence}'
    )
    assert desk.view.attached == Attached()
    assert desk.store.conversation(desk.chats.shown_id).exchanges[0].question == message.text


def test_a_paste_while_a_reply_runs_waits_for_the_next_question(desk, attachments):
    desk.chat.on_submitted("One?")
    attachments.on_pasted("pasted " * 10)
    desk.say("", "Yes.")
    desk.finish()
    assert len(desk.view.attached.files) == 1
    attachments.on_submitted("Two?")
    assert "pasted pasted" in desk.request.messages[-1].text


def run_held(desk: Desk, steps: int) -> None:
    """Do that many of the jobs that are held back, and of those that they bring."""
    for _ in range(steps):
        desk.jobs.held.pop(0)()


def test_a_text_of_5_mb_is_counted_in_pieces_and_told_with_its_counts(desk, attachments):
    desk.jobs.held = []
    attachments.on_pasted("word " * 1_000_000)
    shares = []
    while desk.jobs.held:
        [shown] = desk.view.attached.files
        shares.append(shown.counted)
        assert (shown.tokens, desk.view.attached.can_send) == (None, False)
        run_held(desk, 1)
    assert len(shares) > 50
    assert shares[0] == 0.0
    assert shares == sorted(shares)
    [shown] = desk.view.attached.files
    tokens = 5_000_000 + len('\n\nFile "Pasted text":\n\n```\n\n```')
    assert (shown.tokens, shown.counted, shown.fits) == (tokens, None, False)
    assert shown.can_inline is False
    assert not desk.view.attached.can_send
    assert f"{tokens:,} tokens" in desk.view.attached.note
    assert f"{desk.models.info.capacity_tokens:,}" in desk.view.attached.note
    attachments.on_held_back()
    notice = desk.view.notices["attach"]
    assert notice.text.startswith("Not sent")
    actions(desk, []).on_action(notice.actions[0][0])
    assert desk.view.revealed == ["context_tokens"]
    assert len(desk.view.attached.files) == 1


def test_a_short_text_never_holds_its_question_back(desk, attachments):
    desk.jobs.held = []
    attachments.on_pasted("word " * 1_000)
    assert desk.view.attached.can_send
    attachments.on_submitted("q?")
    assert "word word" in desk.request.messages[0].text
    run_held(desk, 2)
    assert desk.view.attached == Attached()


def test_why_a_question_waits_for_a_count_is_told(desk, attachments):
    desk.jobs.held = []
    attachments.on_pasted("word " * 20_000)
    attachments.on_held_back()
    assert "are being counted" in desk.view.notices["attach"].text
    assert desk.engine.requests == []


def test_a_long_text_waits_for_a_model_that_counts_it(tmp_path):
    (tmp_path / "profile").mkdir()
    desk = Desk(tmp_path / "profile").with_model(ready=False)
    desk.engine.loaded = False
    desk.attachments.on_pasted("word " * 20_000)
    [shown] = desk.view.attached.files
    assert (shown.tokens, shown.counted, desk.view.attached.can_send) == (None, None, False)
    desk.attachments.on_held_back()
    assert "are being counted" in desk.view.notices["attach"].text
    [(request, _)] = desk.engine.loads
    desk.engine.loaded = True
    desk.models.on_worker_event(ModelLoaded(request.load_id, scripted_info()))
    desk.attachments.tick()
    assert "100,031 tokens" in desk.view.attached.note
    assert not desk.view.attached.can_send


def test_a_model_that_cannot_see_more_is_not_offered_a_longer_context(desk, attachments):
    """The demo model sees 2,048 tokens at most; to set 40,000 changed nothing."""
    desk.models.reload()
    least = replace(scripted_info(), capacity_tokens=2_048)
    desk.models.on_worker_event(ModelLoaded(desk.engine.loads[-1][0].load_id, least))
    attachments.on_pasted("word " * 20_000)
    assert "choose another model" in desk.view.attached.note
    attachments.on_held_back()
    assert desk.view.notices["attach"].actions == (CHOOSE_MODEL,)


def test_a_longer_context_lets_the_question_go(desk, attachments):
    attachments.on_pasted("word " * 20_000)
    assert not desk.view.attached.can_send
    desk.models.reload()
    longer = replace(scripted_info(), capacity_tokens=1_000_000)
    desk.models.on_worker_event(ModelLoaded(desk.engine.loads[-1][0].load_id, longer))
    attachments.tick()
    assert desk.view.attached.can_send
    assert desk.view.attached.note == ""
    assert desk.view.attached.files[0].fits


def test_what_was_counted_can_be_sent_after_the_model_has_given_its_memory_back(desk, attachments):
    info = replace(scripted_info(), capacity_tokens=1_000_000)
    desk.models.reload()
    desk.models.on_worker_event(ModelLoaded(desk.engine.loads[-1][0].load_id, info))
    attachments.on_pasted("word " * 20_000)
    assert desk.view.attached.can_send
    desk.models.on_worker_event(ModelUnloaded())
    attachments.tick()
    desk.chats.show_again()
    assert desk.view.attached.can_send
    assert desk.view.attached.files[0].tokens == 100_031


def test_a_text_that_is_taken_out_is_not_counted_on_and_the_next_one_is(desk, attachments):
    desk.jobs.held = []
    attachments.on_pasted("word " * 1_000_000)
    attachments.on_pasted("other words")
    run_held(desk, 3)
    attachments.on_removed(0)
    run_held(desk, 3)
    assert desk.jobs.held == []
    [shown] = desk.view.attached.files
    assert shown.name == "Pasted text 2"
    assert shown.tokens is not None


def test_a_chat_that_is_left_in_mid_count_is_counted_to_its_end(desk, attachments):
    desk.ask("One?")
    one = desk.chats.shown_id
    desk.jobs.held = []
    attachments.on_pasted("word " * 100_000)
    run_held(desk, 2)
    desk.chats.on_new_chat()
    attachments.on_pasted("another")
    while desk.jobs.held:
        run_held(desk, 1)
    assert desk.view.attached.files[0].tokens is not None
    desk.chats.on_conversation_selected(one)
    assert desk.view.attached.files[0].tokens is not None


def test_a_pasted_text_that_was_taken_out_can_be_put_back(desk, attachments, tmp_path):
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "a")])
    attachments.on_pasted("one")
    attachments.on_pasted("two")
    before = desk.view.attached
    attachments.on_removed(1)
    [(action, _)] = desk.view.notices["attach"].actions
    name, key = action.split(":")
    attachments.on_put_back("no such key")
    assert [each.name for each in desk.view.attached.files] == ["a.txt", "Pasted text 2"]
    assert name == "put_back"
    attachments.on_put_back(key)
    attachments.on_put_back(key)
    assert desk.view.attached == before


def test_undo_takes_the_last_paste_out_and_no_file(desk, attachments, tmp_path):
    attachments.on_pasted("one")
    attachments.on_pasted("two")
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "a")])
    attachments.on_paste_undone()
    assert [each.name for each in desk.view.attached.files] == ["Pasted text", "a.txt"]
    attachments.on_paste_undone()
    attachments.on_paste_undone()
    assert [each.name for each in desk.view.attached.files] == ["a.txt"]


def test_a_pasted_text_goes_into_the_question_where_it_can_still_be_typed_in(
    desk, attachments, tmp_path
):
    attachments.on_pasted("x" * MAX_INLINE_CHARS)
    attachments.on_pasted("x" * (MAX_INLINE_CHARS + 1))
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "a")])
    assert [each.can_inline for each in desk.view.attached.files] == [True, False, False]
    for index in (2, 1, 0):
        attachments.on_inlined(index)
    assert desk.view.inserted == ["x" * MAX_INLINE_CHARS]
    assert len(desk.view.attached.files) == 2


def test_what_fits_but_for_the_chat_so_far_is_told_and_can_be_sent(desk, attachments):
    capacity = desk.models.info.capacity_tokens
    desk.chat.on_submitted("One?")
    desk.say("", "Yes.")
    desk.finish(prompt_tokens=capacity - 100, context_tokens=capacity - 98)
    attachments.on_pasted("x" * 300)
    assert "With the chat so far" in desk.view.attached.note
    assert f"{capacity:,}" in desk.view.attached.note
    assert desk.view.attached.can_send


def test_what_cannot_be_counted_can_be_sent(desk, attachments):
    class Broken:
        def count_tokens(self, messages):
            raise BadModelFile("tokenizer.json", "broken")

    attachments = Attachments(
        desk.view,
        replace(desk.ports, engine=Broken()),
        desk.jobs,
        submit=desk.chat.on_submitted,
    )
    attachments.on_pasted("word " * 20_000)
    [shown] = desk.view.attached.files
    assert (shown.tokens, shown.counted, desk.view.attached.can_send) == (None, None, True)
    attachments.tick()
    assert desk.view.attached.files == (shown,)


def again(desk: Desk) -> Desk:
    """The app's next start on the same files."""
    desk.store.store.close()
    return Desk(desk.tmp_path).with_model()


def test_what_was_not_sent_is_there_after_a_restart(desk, attachments, tmp_path):
    desk.ask("One?")
    chat = desk.chats.shown_id
    attachments.on_files_dropped([file_of(tmp_path, "a.txt", "a")])
    attachments.on_pasted("пасте " * 10)
    before = desk.view.attached
    desk = again(desk)
    assert desk.view.attached == Attached()
    desk.chats.on_conversation_selected(chat)
    assert desk.view.attached == before
    desk.attachments.on_removed(0)
    desk = again(desk)
    desk.chats.on_conversation_selected(chat)
    assert [each.name for each in desk.view.attached.files] == ["Pasted text"]
    desk.attachments.on_submitted("q?")
    assert "пасте пасте" in desk.request.messages[-1].text
    desk = again(desk)
    desk.chats.on_conversation_selected(chat)
    assert desk.view.attached == Attached()


def test_a_paste_alone_brings_its_new_chat_back_as_a_draft_does(desk, attachments):
    attachments.on_pasted("pasted " * 10)
    before = desk.view.attached
    desk = again(desk)
    desk.attachments.tick()
    assert desk.view.attached == before
    assert desk.view.summaries == [], "a chat without a question is in no list"
    desk.attachments.on_removed(0)
    desk = again(desk)
    assert desk.view.attached == Attached()


def test_of_a_temporary_chat_nothing_is_written(desk, attachments):
    desk.chats.on_temporary_chat()
    attachments.on_pasted("secret words")
    assert len(desk.view.attached.files) == 1
    assert desk.store.raw().execute("SELECT COUNT(*) FROM attachment").fetchone() == (0,)
    desk.chats.on_new_chat()
    assert desk.view.attached == Attached()


def test_what_is_pasted_before_the_store_has_answered_is_kept_too(desk, attachments):
    desk.ask("One?")
    chat = desk.chats.shown_id
    attachments.on_pasted("first")
    desk = again(desk)
    desk.chats.on_conversation_selected(chat)
    desk = again(desk)
    desk.store.held = []
    desk.chats.on_conversation_selected(chat)
    desk.store.held.pop(0)()  # the chat itself
    desk.attachments.on_pasted("second")
    held, desk.store.held = desk.store.held, None
    for answer in held:
        answer()
    assert [each.size_bytes for each in desk.view.attached.files] == [5, 6]
    desk = again(desk)
    desk.chats.on_conversation_selected(chat)
    assert [each.size_bytes for each in desk.view.attached.files] == [5, 6]


def test_a_chat_that_is_shown_twice_before_the_store_answers_has_its_files_once(desk, attachments):
    desk.ask("One?")
    chat = desk.chats.shown_id
    attachments.on_pasted("first")
    desk = again(desk)
    desk.store.held = []
    desk.chats.on_conversation_selected(chat)
    desk.store.held.pop(0)()  # the chat itself
    desk.chats.show_again()
    held, desk.store.held = desk.store.held, None
    for answer in held:
        answer()
    assert [each.name for each in desk.view.attached.files] == ["Pasted text"]


def test_a_chat_that_is_erased_takes_its_files_along(desk, attachments):
    desk.ask("One?")
    attachments.on_pasted("secret words")
    chat = desk.chats.shown_id
    desk.chats.on_delete(chat)
    assert desk.store.raw().execute("SELECT COUNT(*) FROM attachment").fetchone() == (1,)
    desk.chats.on_erase([chat])
    assert desk.store.raw().execute("SELECT COUNT(*) FROM attachment").fetchone() == (0,)
    assert b"secret words" not in (desk.tmp_path / "chats.db").read_bytes()
