"""Writes the measured part of docs/performance.md from tests/bench/results/*.json.

`python -m tests.bench.performance_page`; what stands outside the two marks is written by hand. A
test holds the page against the files, so that neither goes without the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tests" / "bench" / "results"
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- made by tests.bench.performance_page -->", "<!-- end -->"

TARGET_DEVICE = "NVIDIA H200"


@dataclass(frozen=True)
class Target:
    """What issue 4 asks of one row: at least, and the aim; `less` where less is better."""

    name: str
    what: str
    least: float
    aim: float
    unit: str = "tokens/s"
    less: bool = False

    def verdict(self, value: float) -> str:
        sign = -1 if self.less else 1
        if sign * value >= sign * self.aim:
            return "aim reached"
        return "reached" if sign * value >= sign * self.least else "missed"


TARGETS = (
    Target("decode_512", "decode, positions 1 to 512", 1900, 2600),
    Target("decode_4096", "decode behind 4,096 positions", 1500, 2000),
    Target("decode_32768", "decode behind 32,768 positions", 650, 800),
    Target("prefill_512", "prefill 512", 110_000, 180_000),
    Target("prefill_2048", "prefill 2048", 180_000, 280_000),
    Target("prefill_8192", "prefill 8192", 160_000, 250_000),
    Target("prefill_32768", "prefill 32768", 70_000, 120_000),
    Target("ttft_512_ms", "first token of a 512-token prompt, warm", 8, 4, "ms", less=True),
    Target("load_s", "load, kernels cached", 1.5, 0.6, "s", less=True),
    Target("first_start_s", "first start, kernels compiled", 20, 8, "s", less=True),
    Target("host_ms_per_token", "host time per token", 0.1, 0.02, "ms", less=True),
    Target("busy_thread_share", "share beside a busy Python thread", 0.95, 0.99, "share"),
)


def read_results(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """All result files, newest first, each with its name as "file"."""
    found = [
        {**json.loads(path.read_text(encoding="utf-8")), "file": path.name}
        for path in folder.glob("*.json")
    ]
    return sorted(found, key=lambda result: result["date"], reverse=True)


def measured_part(results: list[dict[str, Any]]) -> str:
    """The tables: the newest result of each device, and the list of all files."""
    if not results:
        return "No result has been committed yet."
    newest: dict[str, dict[str, Any]] = {}
    for result in results:
        newest.setdefault(result["device"], result)
    parts = ["\n".join(_device_lines(result)) for result in newest.values()]
    return "\n\n".join([*parts, "\n".join(_file_lines(results))])


def _device_lines(result: dict[str, Any]) -> Iterator[str]:
    rows = {row["name"]: row for row in result["rows"]}
    with_targets = result["device"] == TARGET_DEVICE
    accuracy, model = result["accuracy"], result["model"]
    yield f"## {result['device']}, {result['date'][:10]}, commit {result['commit']}"
    yield ""
    yield f"`{result['command']}`: {model['name']}, {model['layers']} layers, sampled " + (
        "with temperature {temperature}, top-k {top_k}, top-p {top_p}, text included; "
        "medians.".format(**result["sampling"])
    )
    verdict = "holds" if accuracy["holds"] else "FAILS"
    yield (
        f"Accuracy of the same path against {accuracy['reference']}, {accuracy['positions']} "
        f"positions: {verdict} (mean {accuracy['mean_decode']:.4f} "
        f"nat in decode, {accuracy['mean_prefill']:.4f} in prefill, 99th percentile "
        f"{accuracy['p99_nat']:.4f}, regret {accuracy['regret_nat']:.4f}, KL "
        f"{accuracy['kl_prefill']:.1e})."
    )
    yield _machine_line(result)
    yield ""
    targets = "at least | aim | " if with_targets else ""
    yield f"| what | {targets}measured | least to most | of the limit |" + (
        " verdict |" if with_targets else ""
    )
    yield "| --- |" + " --- |" * (6 if with_targets else 3)
    for target in TARGETS:
        row = rows.get(target.name)
        if row is not None:
            yield _row_line(target, row, with_targets=with_targets)
    if result["left_out"]:
        yield ""
        yield "Left out: " + "; ".join(f"{n}: {why}" for n, why in result["left_out"].items()) + "."


def _row_line(target: Target, row: dict[str, Any], *, with_targets: bool) -> str:
    unit = "" if target.unit == "share" else f" {target.unit}"
    share = row["share_of_limit"]
    cells = [target.what]
    if with_targets:
        cells += [f"{_number(target.least)}", f"{_number(target.aim)}"]
    least, most = row["spread"]
    cells += [
        f"**{_number(row['value'])}**{unit}",
        f"{_number(least)} to {_number(most)}",
        "" if share is None else f"{share:.0%}",
    ]
    if with_targets:
        cells.append(target.verdict(row["value"]))
    return "| " + " | ".join(cells) + " |"


def _machine_line(result: dict[str, Any]) -> str:
    limits, clocks = result["limits"], result.get("clocks_after", {})
    facts = [f"Limits in the same run: reading {limits['read_gb_per_s']:,} GB/s"]
    if limits.get("products_tera_per_s"):
        facts.append(f"bf16 products of cuBLAS {limits['products_tera_per_s']:,} TFLOP/s")
    if "driver" in result:
        facts.append(f"driver {result['driver']}")
    if clocks:
        facts.append(
            f"clocks after the run {clocks.get('sm_mhz', 0):.0f} MHz, memory "
            f"{clocks.get('memory_mhz', 0):.0f} MHz (nothing was set)"
        )
    return "; ".join(facts) + "."


def _file_lines(results: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Result files"
    yield ""
    yield "| file | device | commit | decode_512 | prefill_2048 |"
    yield "| --- | --- | --- | --- | --- |"
    for result in results:
        rows = {row["name"]: row["value"] for row in result["rows"]}
        told = (rows.get(name) for name in ("decode_512", "prefill_2048"))
        cells = " | ".join("" if value is None else _number(value) for value in told)
        yield f"| {result['file']} | {result['device']} | {result['commit']} | {cells} |"


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def page_with(page: str, part: str) -> str:
    """The page's text with its measured part replaced."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{part}\n{END}{after}"


if __name__ == "__main__":
    made = page_with(PAGE.read_text(encoding="utf-8"), measured_part(read_results()))
    PAGE.write_text(made, encoding="utf-8")
