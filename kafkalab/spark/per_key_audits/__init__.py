"""The key pass: audits of one key each, in one walk over each bucket of keys.

Start at `key_pass.py`, then `bucket.py`.
"""
