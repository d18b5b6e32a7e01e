"""KAFKA-17754 with a real client: librdkafka's EndTxn waits at the gate, and later ends the wrong transaction.

    pip install 'kafkalab-course[wire,clients]'
    python docs/torn_for_real.py torn.klab

The first EndTxn is held before the coordinator. The producer gives it up after a second and sends another, which
commits. It begins its second transaction and writes to one partition. Now the first EndTxn is let go: librdkafka speaks
version 1 of the transaction protocol, in which all transactions of an instance have the same epoch, so the coordinator
commits what the second one has written so far. The application then aborts. One of its two records is committed.

What the client calls is `torn` of kafkalab/course/lab09/for_real.py; lab 9 has it in a cell.
"""

from __future__ import annotations

import sys

from kafkalab import LiveCluster
from kafkalab.course.lab09.for_real import TOPICS, producer_of, torn


def main() -> None:
    """Tear a transaction, print what read_committed sees, and save the session under the name given, if any."""
    with LiveCluster(cluster_level=1, topics=TOPICS) as live:
        torn(live, producer_of(live))
        for partition, values in live.outcome().committed.items():
            print(f"read_committed gets {', '.join(values)} of {partition}")
        if len(sys.argv) > 1:
            print(live.save(sys.argv[1]))


if __name__ == "__main__":
    main()
