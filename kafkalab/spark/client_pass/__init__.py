"""The client pass: audits of what one client's transactions did on several keys.

Start at `client_pass.py`, then `split.py`.
"""
