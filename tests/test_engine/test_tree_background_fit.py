"""Trees fitted in another process are the same trees, and an error does not wait for them."""

import dataclasses
import multiprocessing
import os
import signal

import numpy as np
import pytest
import torch

from tabsoda._internal.threads import Threads
from tabsoda.datasets import make_survey
from tabsoda.engine.training_table import TrainingTable
from tabsoda.engine.trees import background_fit
from tabsoda.engine.trees.background_fit import BackgroundTreeFit, fits_beside
from tabsoda.events import EventLog
from tabsoda.table import CodedTable

CPU = torch.device("cpu")


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def tree_fit(events=None, n_columns=12, effort="quick"):
    table = make_survey(300, n_columns=n_columns, seed=1).true_table
    log = EventLog() if events is None else events
    training = TrainingTable.build(table, 0.05, 1, EventLog())
    return BackgroundTreeFit(training, effort, 1, Threads(2, 2), CPU, log)


def processes_of(trees):
    return [] if trees._executor is None else list(trees._executor._processes)


def arrays_of(trees):
    return trees.result().to_state()[0]


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def test_trees_do_not_depend_on_the_process_that_fits_them(two_threads, monkeypatch):
    with tree_fit() as trees:
        assert not processes_of(trees)
        assert torch.get_num_threads() == 2
        here = arrays_of(trees)
    monkeypatch.setattr(background_fit, "_FEWEST_CELLS", 0)
    with tree_fit() as trees:
        assert len(processes_of(trees)) == 1
        # One core is left to the trees, until they are there.
        assert torch.get_num_threads() == 1
        beside = arrays_of(trees)
        assert torch.get_num_threads() == 2
    assert same(here, beside)


def test_an_interrupted_training_ends_its_tree_fit(two_threads, monkeypatch):
    monkeypatch.setattr(background_fit, "_FEWEST_CELLS", 0)
    with pytest.raises(KeyboardInterrupt), tree_fit(effort="full") as trees:
        raise KeyboardInterrupt
    # The process was killed before it had finished; an error is what became of its result.
    assert trees._future.exception(timeout=60) is not None
    assert torch.get_num_threads() == 2


def test_trees_whose_process_was_killed_are_fitted_here(two_threads, monkeypatch):
    with tree_fit() as trees:
        here = arrays_of(trees)
    monkeypatch.setattr(background_fit, "_FEWEST_CELLS", 0)
    events = EventLog()
    with tree_fit(events) as trees:
        for process in processes_of(trees):
            os.kill(process, signal.SIGKILL)
        again = arrays_of(trees)
    assert same(here, again)
    assert [event.kind for event in events] == ["trees_fitted_after_network"]


def test_no_process_is_started_where_no_trees_are_asked_for(two_threads, monkeypatch):
    monkeypatch.setattr(background_fit, "_FEWEST_CELLS", 0)
    with tree_fit(effort="none") as trees:
        assert not processes_of(trees)
        assert trees.result() is None


def test_a_daemon_fits_its_trees_itself(two_threads, monkeypatch):
    monkeypatch.setattr(background_fit, "_FEWEST_CELLS", 0)
    # What multiprocessing sets in the workers of a pool, and asks before it starts a process.
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    with tree_fit() as trees:
        assert not processes_of(trees)
        assert trees.result() is not None


def test_small_tables_and_single_cores_need_no_process():
    two, one = Threads(2, 2), Threads(1, 1)
    assert fits_beside(30_000, two, CPU)
    assert not fits_beside(29_999, two, CPU)
    assert not fits_beside(30_000, one, CPU)
    # While a GPU trains, the core is free.
    assert fits_beside(30_000, one, torch.device("cuda"))


def test_trees_read_nothing_of_held_out_answers():
    table = make_survey(300, n_columns=12, seed=1).true_table
    training = TrainingTable.build(table, 0.2, 1, EventLog())
    values = np.where(training.held_out, 0.0, training.whole.values)
    swapped = dataclasses.replace(
        training, whole=CodedTable(table.columns, values, training.whole.states)
    )
    found = []
    for one in (training, swapped):
        with BackgroundTreeFit(one, "quick", 1, Threads(1, 1), CPU, EventLog()) as trees:
            found.append(arrays_of(trees))
    assert same(*found)
