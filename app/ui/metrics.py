"""Every size of the window in pixels, percent or counts; the numbers are in `resources/style`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metrics:
    """The names say what each is for; pixels at 100 % scale unless the name says otherwise."""

    gap_xs: int
    gap_s: int
    gap_m: int
    gap_l: int
    gap_xl: int
    radius_control: int
    radius_code: int
    radius_card: int
    radius_composer: int
    radius_pill: int
    border: int
    ring: int
    icon: int
    icon_button: int
    control_height: int
    pill_height: int
    value_height: int
    value_focus_padding: int
    header_height: int
    status_height: int
    list_width: int
    list_min_width: int
    list_max_width: int
    settings_width: int
    settings_min_width: int
    settings_max_width: int
    list_row_height: int
    list_group_height: int
    list_snippet_height: int
    overlay_below: int
    fold_below: int
    window_width: int
    window_height: int
    window_min_width: int
    window_min_height: int
    exchange_min_height: int
    exchange_thinking_height: int
    exchange_gap: int
    thinking_min_width: int
    answer_min_width: int
    grip_width: int
    grip_step: int
    fold_height: int
    pane_header_height: int
    bubble_padding_x: int
    bubble_padding_y: int
    bubble_max_percent: int
    bubble_min_width: int
    answer_max_chars: int
    transcript_max_width: int
    meter_height: int
    meter_width: int
    meter_small_width: int
    meter_budget_width: int
    slider_height: int
    slider_knob: int
    slider_track: int
    value_width: int
    switch_width: int
    switch_height: int
    switch_margin: int
    prompt_box_height: int
    suggestion_max_width: int
    suggestion_columns: int
    composer_max_lines: int
    scroll_width: int
    jump_gap: int
    menu_width: int
    line_height_percent: int
    code_line_height_percent: int
    quote_indent: int
    list_indent: int
    table_padding_x: int
    table_padding_y: int
    wizard_width: int
    wizard_height: int
    wizard_min_width: int
    wizard_min_height: int
    wizard_steps_width: int
    wizard_step_height: int
    wizard_page_margin: int
    wizard_label_width: int
    wizard_amount_width: int
    wizard_footer_height: int
    radio: int
    radio_radius: int
    radio_ring: int
