"""Work shared between threads: every piece done once, errors seen, results as without threads."""

import threading

import numpy as np
import pytest
import threadpoolctl

from engine.cpu import parallel
from engine.cpu.matrices import Float32Matrix
from engine.cpu.parallel import WORTH_SHARING, keep_blas_to_one_thread, share


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [1, 2, 5, 64])
def test_pieces_cover_everything_once(monkeypatch, threads, count):
    monkeypatch.setattr(parallel, "thread_count", lambda: threads)
    done = np.zeros(count, np.int64)

    def work(begin, end):
        done[begin:end] += 1

    share(count, WORTH_SHARING, work)
    assert (done == 1).all()


def test_cheap_work_stays_on_the_calling_thread(monkeypatch):
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    threads = []
    share(8, WORTH_SHARING - 1, lambda begin, end: threads.append(threading.get_ident()))
    assert threads == [threading.get_ident()]


def test_an_error_of_a_piece_is_raised(monkeypatch):
    monkeypatch.setattr(parallel, "thread_count", lambda: 2)

    def work(begin, end):
        if begin:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        share(8, WORTH_SHARING, work)


def test_numpys_error_state_holds_in_every_piece(monkeypatch):
    monkeypatch.setattr(parallel, "thread_count", lambda: 2)
    states = []
    with np.errstate(over="ignore", invalid="raise"):
        share(8, WORTH_SHARING, lambda begin, end: states.append(np.geterr()))
    assert [(state["over"], state["invalid"]) for state in states] == [("ignore", "raise")] * 2


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_a_shared_product_is_the_product(monkeypatch, rows):
    monkeypatch.setattr(parallel, "thread_count", lambda: 3)
    random = np.random.default_rng(rows)
    weight = random.standard_normal((1000, 700), np.float32)
    x = random.standard_normal((rows, 700), np.float32)
    expected = x.astype(np.float64) @ weight.T.astype(np.float64)
    np.testing.assert_allclose(Float32Matrix(weight).product(x), expected, atol=1e-3)


def test_blas_is_held_to_one_thread():
    with threadpoolctl.threadpool_limits(limits=2, user_api="blas"):
        keep_blas_to_one_thread()
        pools = [p for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]
        assert pools
        assert {pool["num_threads"] for pool in pools} == {1}
