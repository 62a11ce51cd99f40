"""Trees grown beside the network are the same trees, and nobody waits for them in vain."""

import time

import numpy as np
import pytest
import torch

from tabsoda.datasets import make_survey
from tabsoda.em.growing import Growing
from tabsoda.settings import Settings


def growing(threads, monkeypatch, n_columns=12):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    table = make_survey(300, n_columns=n_columns, seed=1).true_table
    nobody = np.zeros((n_columns, n_columns), dtype=bool)
    settings = Settings.preset("balanced").replace(experts={"trees": "quick"})
    return Growing(table, settings, 1, None, nobody, torch.device("cpu"))


def test_trees_do_not_depend_on_the_thread_they_grow_in(monkeypatch):
    found = []
    for threads in (1, 2):
        with growing(threads, monkeypatch) as trees:
            found.append(trees.result().experts.to_state()[0])
    assert found[0].keys() == found[1].keys()
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])


def test_an_interrupted_training_does_not_wait_for_all_trees(monkeypatch):
    started = time.perf_counter()
    with growing(2, monkeypatch) as trees:
        trees.result()
    whole = time.perf_counter() - started
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), growing(2, monkeypatch):
        raise KeyboardInterrupt
    assert time.perf_counter() - started < 0.7 * whole
