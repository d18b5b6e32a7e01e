"""A thread of a broker that stands still in a window, while the broker's other threads go on."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.broker.services import Context, Services
from kafkalab.protocol.windows import Window


def stand_still(broker: Services, window: Window, context: Context, go_on: Callable[[Context], None]) -> bool:
    """Call `go_on` later if a `Stall` awaits the request in this window; return whether one does.

    A crash of the broker ends the thread: then `go_on` is never called.
    """
    request, name, incarnation = context.request, window.name, broker.incarnation
    stall = broker.state.stalls.pop((request.copy_of or request.id, name), None) if request else None
    if request is None or stall is None:
        return False
    data = {"window": name, "request": request.id}
    step = broker.port.record(broker.name, "state", "window opens", context.cause, data)
    if broker.incarnation != incarnation:
        return True

    def close() -> None:
        if broker.incarnation == incarnation:
            cause = broker.port.record(broker.name, "state", "window closes", step, data)
            if broker.incarnation == incarnation:
                go_on(Context(request, cause))

    broker.port.timer(broker.name, stall(), close, False)
    return True
