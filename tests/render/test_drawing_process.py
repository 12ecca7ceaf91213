"""Formulas and colours come from another process, and from this one where that cannot be."""

import subprocess
import sys
import threading

import pytest

from app.render.code_colors import color_lines
from app.render.drawing_process import DrawingProcess, child_command
from app.render.formulas import render_formula

SOURCE = 'def f(x):\n    return "ä"  # 中文\n'


@pytest.fixture
def drawing():
    made = DrawingProcess(child_command())
    yield made
    made.close()


def test_it_draws_and_colours_as_the_functions_do_here(drawing):
    assert drawing.formula(r"\frac{1}{\lambda}", 15, True) == render_formula(
        r"\frac{1}{\lambda}", 15, True
    )
    assert drawing.formula(r"\nonsense", 15, False) is None
    assert drawing.colors(SOURCE, "python") == color_lines(SOURCE, "python")
    assert drawing._child is not None


def test_a_child_that_dies_costs_one_formula_and_is_started_again(drawing):
    assert drawing.formula("x", 15, False) is not None
    first = drawing._child
    first.kill()
    first.wait()
    drawing.formula("y", 15, False)
    assert drawing.formula("z", 15, False) == render_formula("z", 15, False)
    assert drawing._child is not None
    assert drawing._child.pid != first.pid


@pytest.mark.parametrize("command", [(), ("/no/such/program",), (sys.executable, "-c", "")])
def test_without_a_child_the_work_is_done_here(command):
    drawing = DrawingProcess(command)
    for _ in range(4):
        drawing.formula("x", 15, False)
    assert drawing.formula("x^2", 15, False) == render_formula("x^2", 15, False)
    assert drawing.colors(SOURCE, "python") == color_lines(SOURCE, "python")
    drawing.close()


def test_a_job_without_end_is_given_up():
    sleeps = (sys.executable, "-c", "import time; time.sleep(60)")
    drawing = DrawingProcess(sleeps, max_job_s=0.2)
    assert drawing.formula("x", 15, False) is None
    drawing.close()


def test_closing_while_a_job_runs_lets_the_job_return():
    drawing = DrawingProcess((sys.executable, "-c", "import time; time.sleep(60)"))
    found = []
    thread = threading.Thread(target=lambda: found.append(drawing.formula("x", 15, False)))
    thread.start()
    while drawing._child is None:
        pass
    drawing.close()
    thread.join(10)
    assert found == [None]
    assert drawing.formula("x", 15, False) == render_formula("x", 15, False)


def test_the_child_ends_when_the_app_is_gone():
    child = subprocess.Popen(child_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdin.close()
    assert child.wait(20) == 0
    child.stdout.close()


def test_a_job_that_begins_as_the_process_is_closed_returns():
    drawing = DrawingProcess((sys.executable, "-c", "import time; time.sleep(60)"))
    assert drawing._ensure_child()
    drawing.close()  # between a job's look at the child and its first byte
    assert drawing._ask(["formula", "x", 15, False]) is None
