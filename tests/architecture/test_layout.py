"""Rules of the repository that no other tool checks: sizes, names, hosts, headers."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = {".py": 400, ".cu": 500, ".cuh": 500}
MAX_FUNCTION_LINES = 60
BANNED_MODULES = {"utils", "util", "helpers", "helper", "common", "misc"}
REGISTRY_HOSTS = (
    "pypi" + ".org",
    "python" + "hosted",
    "registry.npm" + "js",
    "deb.deb" + "ian.org",
)
KERNEL_HEADER = ("Operation", "Arguments", "Launch", "Assumes", "Numerics", "Source", "Oracle")


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False
    ).stdout.decode()
    files = [ROOT / name for name in listed.split("\0") if name]
    if not files:
        pytest.skip("not a git checkout: the list of tracked files is not to be had")
    return [file for file in files if file.exists()]


def product_files(*suffixes: str) -> list[Path]:
    return [
        file
        for file in tracked_files()
        if file.suffix in suffixes and file.relative_to(ROOT).parts[0] != "tests"
    ]


def test_files_fit_one_room():
    over = {
        str(file.relative_to(ROOT)): lines
        for file in product_files(*MAX_LINES)
        if (lines := len(file.read_text().splitlines())) > MAX_LINES[file.suffix]
    }
    assert not over, f"over the size that one file should have: {over}"


def test_functions_fit_one_screen():
    over = {}
    for file in product_files(".py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    over[f"{file.relative_to(ROOT)}:{node.name}"] = lines
    assert not over, f"functions over {MAX_FUNCTION_LINES} lines: {over}"


def test_module_names_say_something():
    named = [
        file for file in tracked_files() if file.suffix == ".py" and file.stem in BANNED_MODULES
    ]
    assert not named


def test_packaging_folder_does_not_shadow_the_package_of_that_name():
    assert not (ROOT / "packaging" / "__init__.py").exists()


def test_no_file_names_a_package_registry():
    named = [
        str(file.relative_to(ROOT))
        for file in tracked_files()
        if file.stat().st_size < 2_000_000
        and any(host in file.read_text(errors="ignore") for host in REGISTRY_HOSTS)
    ]
    assert not named


def test_no_file_is_over_12_mb():
    heavy = [str(file) for file in tracked_files() if file.stat().st_size > 12_000_000]
    assert not heavy


def test_every_requirement_is_pinned_by_hash():
    for file in (ROOT / "requirements").glob("*.txt"):
        if file.name == "torch.txt":
            continue  # its CPU wheel is taken as it is offered
        for line in re.sub(r"\\\n", " ", file.read_text()).splitlines():
            if line.strip():
                assert "==" in line, f"{file.name}: {line}"
                assert "--hash=sha256:" in line, f"{file.name}: {line}"


def test_every_kernel_file_opens_with_the_full_header():
    for file in (ROOT / "kernels").glob("*.cu"):
        head = "\n".join(file.read_text().splitlines()[:60])
        lacking = [word for word in KERNEL_HEADER if word not in head]
        assert not lacking, f"{file.name} lacks {lacking} in its header"


def test_ptx_stands_in_the_shared_header_only():
    with_ptx = [
        f.name for f in (ROOT / "kernels").glob("*.cu") if re.search(r"\basm\b", f.read_text())
    ]
    assert not with_ptx
