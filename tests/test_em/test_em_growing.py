"""Trees grown beside the network are the same trees, and nobody waits for them in vain."""

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
import torch

from tabsoda._internal.threads import Threads
from tabsoda.datasets import make_survey
from tabsoda.em import growing
from tabsoda.em.growing import Growing
from tabsoda.events import EventLog
from tabsoda.settings import Settings


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def growing_trees(events=None, n_columns=12, trees="quick"):
    table = make_survey(300, n_columns=n_columns, seed=1).true_table
    nobody = np.zeros((n_columns, n_columns), dtype=bool)
    settings = Settings.preset("balanced").replace(experts={"trees": trees})
    device = torch.device("cpu")
    log = EventLog() if events is None else events
    return Growing(table, settings, 1, None, nobody, Threads(2, 2), device, log)


def processes_of(trees):
    return [] if trees._executor is None else list(trees._executor._processes)


def arrays_of(trees):
    return trees.result().experts.to_state()[0]


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def test_trees_do_not_depend_on_the_process_they_grow_in(two_threads, monkeypatch):
    with growing_trees() as trees:
        assert not processes_of(trees)
        assert torch.get_num_threads() == 2
        here = arrays_of(trees)
    monkeypatch.setattr(growing, "_FEWEST_CELLS", 0)
    with growing_trees() as trees:
        assert len(processes_of(trees)) == 1
        # One core is left to the trees, until they are there.
        assert torch.get_num_threads() == 1
        beside = arrays_of(trees)
        assert torch.get_num_threads() == 2
    assert same(here, beside)


def test_an_interrupted_training_does_not_wait_for_its_trees(two_threads, monkeypatch):
    monkeypatch.setattr(growing, "_FEWEST_CELLS", 0)
    started = time.perf_counter()
    with growing_trees(trees="full") as trees:
        trees.result()
    whole = time.perf_counter() - started
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), growing_trees(trees="full"):
        raise KeyboardInterrupt
    assert time.perf_counter() - started < 0.5 * whole
    assert torch.get_num_threads() == 2


def test_trees_whose_process_was_killed_grow_here(two_threads, monkeypatch):
    with growing_trees() as trees:
        here = arrays_of(trees)
    monkeypatch.setattr(growing, "_FEWEST_CELLS", 0)
    events = EventLog()
    with growing_trees(events) as trees:
        for process in processes_of(trees):
            os.kill(process, signal.SIGKILL)
        again = arrays_of(trees)
    assert same(here, again)
    assert [event.decision for event in events] == ["trees grown after the network"]


def test_no_process_is_started_where_no_trees_are_asked_for(two_threads, monkeypatch):
    monkeypatch.setattr(growing, "_FEWEST_CELLS", 0)
    with growing_trees(trees="none") as trees:
        assert not processes_of(trees)
        assert trees.result().experts is None


def test_a_daemon_grows_its_trees_itself(two_threads, monkeypatch):
    monkeypatch.setattr(growing, "_FEWEST_CELLS", 0)
    # What multiprocessing sets in the workers of a pool, and asks before it starts a process.
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    with growing_trees() as trees:
        assert not processes_of(trees)
        assert trees.result().experts is not None
