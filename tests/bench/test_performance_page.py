"""docs/performance.md says what the committed result files say."""

import json

import pytest

from tests.bench import performance_page
from tests.bench.performance_page import (
    BEGIN,
    END,
    PAGE,
    TARGETS,
    measured_part,
    page_with,
    read_results,
)


def result(device="NVIDIA H200", date="2026-11-30T01:00:00+00:00", **rows):
    return {
        "command": "python -m engine.bench",
        "commit": "abc",
        "date": date,
        "device": device,
        "driver": "580",
        "model": {"name": "random-qwen3-0.6b", "layers": 28},
        "sampling": {"temperature": 0.6, "top_k": 20, "top_p": 0.95},
        "limits": {"read_gb_per_s": 4370.0, "products_tera_per_s": 741.0},
        "accuracy": {
            "reference": "CPU",
            "positions": 64,
            "holds": True,
            "mean_decode": 0.003,
            "mean_prefill": 0.003,
            "p99_nat": 0.01,
            "regret_nat": 0.0,
            "kl_prefill": 1e-5,
        },
        "rows": [
            {"name": n, "value": v, "spread": [v * 0.9, v * 1.1], "share_of_limit": None}
            for n, v in rows.items()
        ],
        "left_out": {},
    }


def test_the_page_holds_what_the_files_say():
    page = PAGE.read_text(encoding="utf-8")
    assert page == page_with(page, measured_part(read_results()))


def test_every_committed_result_names_its_command_and_holds_its_accuracy():
    for found in read_results():
        assert found["command"].startswith("python -m engine.bench")
        assert found["accuracy"]["holds"], found["file"]
        assert found["rows"], found["file"]
        assert found["commit"] != "unknown", found["file"]


@pytest.mark.parametrize(
    ("name", "missed", "reached", "aim"),
    [
        ("decode_512", 1899, 1900, 2600),
        ("ttft_512_ms", 8.1, 8.0, 3.9),
        ("host_ms_per_token", 0.2, 0.1, 0.01),
        ("busy_thread_share", 0.94, 0.96, 0.99),
    ],
)
def test_a_target_knows_which_way_is_better(name, missed, reached, aim):
    target = next(target for target in TARGETS if target.name == name)
    verdicts = [target.verdict(value) for value in (missed, reached, aim)]
    assert verdicts == ["missed", "reached", "aim reached"]


def test_the_newest_result_of_each_device_makes_a_table(tmp_path):
    old = result(date="2026-11-29T01:00:00+00:00", decode_512=1000.0)
    new = result(decode_512=2000.0, load_s=0.5)
    other = result(device="NVIDIA GeForce RTX 3060", decode_512=250.0)
    for name, content in (("a", old), ("b", new), ("c", other)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    part = measured_part(read_results(tmp_path))
    lines = part.splitlines()
    (decode,) = [line for line in lines if "**2,000**" in line]
    assert decode.startswith("| decode, positions 1 to 512 | 1,900 | 2,600 | **2,000** tokens/s |")
    assert decode.endswith("| reached |")
    assert any(line.endswith("aim reached |") and "load" in line for line in lines)
    # Targets are those of one device; the others are told without.
    (elsewhere,) = [line for line in lines if "**250**" in line]
    assert "1,900" not in elsewhere
    assert "**1,000**" not in part
    assert sum(line.startswith("| a.json") for line in lines) == 1


def test_only_what_lies_between_the_marks_changes():
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert page_with(page, "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    assert performance_page.measured_part([]) == "No result has been committed yet."
