"""Tree experts: one boosted model per question, beside the network.

Input: a CodedTable and which of its answers may be seen. Output: for every question a model that
gives the probabilities of its levels, or a number, from the other answers of a row.
"""

from tabsoda.experts.gate_experts import GateExperts
from tabsoda.experts.settings import TreeExpertSettings
from tabsoda.experts.tree_experts import ExpertAnswers, TreeExperts

__all__ = ["ExpertAnswers", "GateExperts", "TreeExpertSettings", "TreeExperts"]
