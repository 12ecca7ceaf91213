"""What the buttons of the wizard say."""

from __future__ import annotations

from app.language import QT_TRANSLATE_NOOP, translate
from app.wizard_view import WizardAction, WizardButton

_LABELS = {
    WizardAction.CHECK_AGAIN: QT_TRANSLATE_NOOP("Wizard", "Check again"),
    WizardAction.NEXT: QT_TRANSLATE_NOOP("Wizard", "Next"),
    WizardAction.TRY_DEMO: QT_TRANSLATE_NOOP("Wizard", "Try the demo model now"),
    WizardAction.BACK: QT_TRANSLATE_NOOP("Wizard", "Back"),
    WizardAction.PAUSE: QT_TRANSLATE_NOOP("Wizard", "Pause"),
    WizardAction.RESUME: QT_TRANSLATE_NOOP("Wizard", "Resume"),
    WizardAction.RETRY: QT_TRANSLATE_NOOP("Wizard", "Try again"),
    WizardAction.START_CHATTING: QT_TRANSLATE_NOOP("Wizard", "Start chatting"),
    WizardAction.CANCEL: QT_TRANSLATE_NOOP("Wizard", "Cancel"),
}


def wizard_button(
    action: WizardAction, *, enabled: bool = True, primary: bool = False
) -> WizardButton:
    """A button with its usual words."""
    label = translate("Wizard", _LABELS[action])
    return WizardButton(action, label, enabled=enabled, primary=primary)
