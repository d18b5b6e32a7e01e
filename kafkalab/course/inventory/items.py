"""The 20 items in the order of the labs; their texts are in the modules beside this one."""

from __future__ import annotations

from kafkalab.course.inventory.about_logs import ABOUT_LOGS
from kafkalab.course.inventory.about_outcomes import ABOUT_OUTCOMES
from kafkalab.course.inventory.about_sending import ABOUT_SENDING

ITEMS = (*ABOUT_SENDING, *ABOUT_LOGS, *ABOUT_OUTCOMES)
