"""All audits of histories: by the pure checks, or by passes in the workers.

Start at `audit.py`, then `check_tasks.py`.
"""
