"""The paper's tables from the public-use files, next to its published numbers."""

from tabsoda.reproduce.reproduction import Reproduction, reproduce_tables

__all__ = ["Reproduction", "reproduce_tables"]
