"""What the app makes of the demo model: it is in the picker, with its own suggestions."""

import json

from app.language import CHINESE, ENGLISH, Language
from app.model_records import known_models
from app.paths import resource_dir
from app.ui.empty_chat import EmptyChat
from app.ui.theme import Theme

FOLDER = resource_dir() / "demo_model"


def test_the_demo_model_comes_with_its_suggestions_in_the_language_of_the_window(tmp_path, qapp):
    (demo,) = (record for record in known_models(tmp_path, FOLDER, ()) if record.is_demo)
    prompts = json.loads((FOLDER / "suggestions.json").read_text("utf-8"))["prompts"]
    language = Language(resource_dir() / "translations")
    shown = {}
    for name in (ENGLISH, CHINESE, ENGLISH):
        language.use(name)
        assert demo.shown_suggestions == tuple(each["question"] for each in prompts[name])
        assert len(demo.shown_suggestions) == 10
        shown[name] = demo.shown_label
    assert shown == {ENGLISH: "Demo model", CHINESE: "演示模型"}


def test_the_name_of_any_other_model_is_the_same_in_all_languages(tmp_path):
    for record in known_models(tmp_path, FOLDER, ()):
        if not record.is_demo:
            assert record.shown_label == record.label
            assert record.shown_suggestions == ()


def test_damaged_suggestions_only_leave_the_usual_ones(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    for text in ("", "[]", '{"prompts": 3}', '{"prompts": [{}]}', '{"prompts": {"en": [{}]}}'):
        (tmp_path / "suggestions.json").write_text(text)
        (demo,) = (record for record in known_models(tmp_path, tmp_path, ()) if record.is_demo)
        assert demo.shown_suggestions == ()


def test_an_empty_chat_offers_the_suggestions_of_the_model(qtbot):
    page = EmptyChat(Theme(resource_dir()))
    qtbot.addWidget(page)
    usual = [button.text() for button in page.buttons]
    chosen = []
    page.suggestion_chosen.connect(chosen.append)
    page.show_model("Demo", ("What is 1 + 1?", "hi"))
    assert [button.text() for button in page.buttons][:2] == ["What is 1 + 1?", "hi"]
    assert all(button.isHidden() for button in page.buttons[2:])
    page.buttons[1].click()
    assert chosen == ["hi"]
    page.show_model("Real")
    assert [button.text() for button in page.buttons] == usual
    assert not any(button.isHidden() for button in page.buttons)


def test_nothing_is_offered_while_no_model_is_known(qtbot):
    page = EmptyChat(Theme(resource_dir()))
    qtbot.addWidget(page)
    assert not page.buttons[0].isVisibleTo(page)
    page.show_model("Demo model", ("What is 2 + 2?",))
    assert page.buttons[0].isVisibleTo(page)
    page.show_model("")
    assert not page.buttons[0].isVisibleTo(page)
