"""Which groups a new leader of a partition of `__consumer_offsets` coordinates, and which a former one leaves."""

from __future__ import annotations

from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.protocol.group_record import GroupEntry
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Batch, Record
from tests.broker.replica_world import BROKERS, ReplicaWorld, info

HERE, THERE = "g", "h"


def test_a_former_coordinator_leaves_the_groups_of_this_partition_only() -> None:
    partitions = offsets_partition(HERE), offsets_partition(THERE)
    assert partitions[0] != partitions[1]
    w = ReplicaWorld(real=("b1",))
    w.image = w.image.with_partitions({p: info("b1") for p in partitions}, BROKERS)
    w.give_image()
    groups = w.brokers["b1"].state.groups
    for name in (HERE, THERE):
        groups[name] = ClassicGroup(name)
    w.image = w.image.with_partitions({partitions[0]: info("b2", 1)}, BROKERS)
    w.give_image()
    assert list(groups) == [THERE]


def test_a_loaded_group_names_its_members_by_the_epoch_of_the_coordinator_that_loaded_it() -> None:
    w = ReplicaWorld(real=("b1",))
    partition = offsets_partition(HERE)
    entry = GroupEntry(
        group=HERE, protocol_type="consumer", generation=3, protocol="", leader="", current_state_timestamp_ms=0,
        members=(),
    )  # fmt: skip
    w.log("b1", partition).append(Batch(records=(Record(None, entry),)), 0)
    w.image = w.image.with_partitions({partition: info("b1", 4)}, BROKERS)
    w.give_image()
    w.run_for(5)
    group = w.brokers["b1"].state.groups[HERE]
    assert group.generation == 3
    assert group.new_member_id("app", None) == "app-4-1"
