"""The names of `kafkalab`, for type checkers and editors. `tests/test_typed.py` compares them with the lazy table."""

from kafkalab.cli.notebook_search import explore as explore
from kafkalab.cli.transactions import transactions_of as transactions_of
from kafkalab.course.last_step_summary import at_the_end as at_the_end
from kafkalab.course.glossary import glossary as glossary
from kafkalab.course.inventory.class_report import compare_inventory as compare_inventory
from kafkalab.course.inventory.sitting import open_inventory as open_inventory, save_inventory as save_inventory
from kafkalab.course.lab00.scenario import lab00 as lab00
from kafkalab.course.lab01.scenario import lab01 as lab01
from kafkalab.course.lab02.scenario import lab02 as lab02, raw_requests_after as raw_requests_after
from kafkalab.course.lab03.scenario import lab03 as lab03
from kafkalab.course.lab04.scenario import lab04 as lab04, price_list as price_list
from kafkalab.course.lab05.scenario import lab05 as lab05, two_accounts as two_accounts
from kafkalab.course.lab06.scenario import lab06 as lab06, two_charges as two_charges
from kafkalab.course.lab07.scenario import (
    crashed_counter as crashed_counter,
    cut_off as cut_off,
    ended_at as ended_at,
    idle_for as idle_for,
    lab07 as lab07,
    find_first_error as find_first_error,
    lost_request as lost_request,
    ninety_seconds as ninety_seconds,
    shelf as shelf,
    told_at as told_at,
)
from kafkalab.course.lab08.scenario import (
    lab08 as lab08,
    old_coordinator as old_coordinator,
    one_transfer as one_transfer,
)
from kafkalab.course.lab09.scenario import (
    commit_in_doubt as commit_in_doubt,
    java_session as java_session,
    lab09 as lab09,
    librdkafka_session as librdkafka_session,
    lost_session as lost_session,
)
from kafkalab.course.lab10.scenario import (
    aiokafka_session as aiokafka_session,
    lab10 as lab10,
    late_offset_session as late_offset_session,
    packers as packers,
    pending_offsets as pending_offsets,
)
from kafkalab.course.lab11.scenario import (
    bookers as bookers,
    counts as counts,
    lab11 as lab11,
    prepared_and_claimed as prepared_and_claimed,
    verdict as verdict,
)
from kafkalab.course.lab13.scenario import commit_interval as commit_interval, lab13 as lab13
from kafkalab.course.lab14.scenario import lab14 as lab14
from kafkalab.course.lab15.scenario import (
    late_batch as late_batch,
    leaderless as leaderless,
    left_hanging as left_hanging,
    wrong_patient as wrong_patient,
)
from kafkalab.course.lab17.scenario import (
    fate as fate,
    judged_history as judged_history,
    lab17 as lab17,
    positions_of as positions_of,
    restarted_task as restarted_task,
    stopped_job as stopped_job,
)
from kafkalab.course.outline import progress as progress
from kafkalab.explore.shrink import shrink as shrink
from kafkalab.explore.what_if import what_if as what_if
from kafkalab.grading.challenge import (
    Challenge as Challenge,
    answer_challenge as answer_challenge,
    open_challenge as open_challenge,
)
from kafkalab.grading.check import check as check, counterexample as counterexample, hint as hint, question as question
from kafkalab.history.costs import costs_of as costs_of
from kafkalab.live.cluster import LiveCluster as LiveCluster
from kafkalab.live.tap import Tap as Tap
from kafkalab.programs.copying import copying as copying
from kafkalab.programs.database import database as database
from kafkalab.programs.groups import two_members as two_members, zombie_member as zombie_member
from kafkalab.programs.hanging_writer import hanging as hanging
from kafkalab.programs.refused_send import refused_send as refused_send
from kafkalab.programs.transfers import kafka_17754 as kafka_17754
from kafkalab.protocol.acls import Deny as Deny
from kafkalab.protocol.source_header import made_from as made_from
from kafkalab.diagnose.room import IncidentRoom as IncidentRoom
from kafkalab.reference.exhibits import error_gallery as error_gallery, museum as museum, rule_gallery as rule_gallery
from kafkalab.sim.cluster import Cluster as Cluster
from kafkalab.faults.cluster import *  # noqa: F403
from kafkalab.faults.frame import *  # noqa: F403
from kafkalab.faults.link import *  # noqa: F403
from kafkalab.faults.node import *  # noqa: F403
from kafkalab.faults.partition import *  # noqa: F403
from kafkalab.faults.request import *  # noqa: F403
from kafkalab.faults.storage import *  # noqa: F403
from kafkalab.faults.window import *  # noqa: F403
from kafkalab.sim.scenario import Program as Program, Scenario as Scenario, program as program
from kafkalab.widgets.model.journey import Journey as Journey
from kafkalab.widgets.views.client_view import ClientView as ClientView
from kafkalab.widgets.views.cluster_map import ClusterMap as ClusterMap
from kafkalab.widgets.views.compare import Compare as Compare
from kafkalab.widgets.views.cost_meter import CostMeter as CostMeter
from kafkalab.widgets.views.fault_panel import FaultPanel as FaultPanel
from kafkalab.widgets.views.log_tape import LogTape as LogTape
from kafkalab.widgets.views.alternatives import Alternatives as Alternatives
from kafkalab.widgets.views.predict import Predict as Predict
from kafkalab.widgets.views.sequence import Sequence as Sequence
from kafkalab.widgets.views.share import Share as Share
from kafkalab.widgets.views.state_chart import StateChart as StateChart
from kafkalab.widgets.views.verdict import Verdict as Verdict
from kafkalab.wire.tap.session import load_tap as load_tap

PROVIDERS: dict[str, tuple[str, ...]]
__version__: str
