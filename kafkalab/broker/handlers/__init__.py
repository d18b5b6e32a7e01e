"""One file for each API that a broker serves: `handle(broker, request, now, header)`.

Start at `find_coordinator.py`, then `end_txn.py`, then `registry.py`.
"""
