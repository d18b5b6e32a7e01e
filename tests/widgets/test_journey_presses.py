"""What a press on a journey does, and why one would change nothing: without a widget and without a browser."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import lab00, lab03
from kafkalab.protocol.rules import EPOCH_CHECK, TIMEOUT_BUMPS
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.faults import Delay, Drop
from kafkalab.widgets.model.journey import Journey
