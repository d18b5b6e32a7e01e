"""The tap: a proxy before a running Kafka that records every frame, and shows it as frames of the simulator.

Start at `proxy.py`, then `recorder.py`.
"""
