"""The proof at scale: workloads and histories on Spark, and the audits that say which guarantees held.

Start at `audits/audit.py`, then `per_key_audits/key_pass.py`.
"""
