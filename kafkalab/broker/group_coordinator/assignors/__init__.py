"""The assignors of KIP-848: which member of a consumer group is to have which partition (`coordinator.group.assignor`).

Start at `assignment.py`, then `range_assignor.py` and `uniform.py`.
"""
