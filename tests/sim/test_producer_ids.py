"""Producer ids of a cluster are different ones, however small the blocks are."""

from __future__ import annotations

from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario


def test_ids_in_use_before_and_new_ones_never_share_a_producer_id() -> None:
    """Found by chance: with blocks of one id, the second id in use took that of another broker's block."""
    ids = [f"t{number}" for number in range(5)]
    scenario = Scenario(
        brokers=2,
        topics={"out": 1},
        config={"producer_id_block_size": 1},
        producer_epochs=dict.fromkeys(ids[:3], 7),
        programs=tuple(Program(tid, "transactions", {"transactional_id": tid}) for tid in ids),
    )
    cluster = Cluster(scenario)
    cluster.run()
    assert cluster.results == dict.fromkeys(ids, 1)
    known = {e.data["transactional_id"]: e.data["producer_id"] for e in cluster.trace.of("state", "transaction")}
    assert len(set(known.values())) == len(ids)
    assert any(frame.name == "AllocateProducerIds" for frame in cluster.trace.frames.values())
