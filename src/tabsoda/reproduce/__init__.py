"""The paper's tables from the public-use files: what is read, run, and set beside its numbers."""

from tabsoda.reproduce.reproduction import Reproduction, reproduce_tables

__all__ = ["Reproduction", "reproduce_tables"]
