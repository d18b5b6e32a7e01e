"""The cursor of a journey: at which steps it stops, what of the run is folded, and the jumps between."""

from __future__ import annotations

from threading import RLock
from typing import Any

import traitlets
from ipywidgets._version import __jupyter_widgets_base_version__

from kafkalab.widgets.model.jumps import find, jump
from kafkalab.widgets.model.messages import MessageWidget
from kafkalab.widgets.payload.text import stops
from kafkalab.widgets.payload.tour import steps_in, walk


class Cursor(MessageWidget):
    """A cursor on a run, and what of the run is shown and folded: see `Journey`."""

    # It is never displayed itself. So its model in the browser is the plain one: anywidget's would be deaf for good if
    # the page was too busy to load a module within two seconds.
    _esm = ""
    _model_name = traitlets.Unicode("WidgetModel").tag(sync=True)
    _model_module = traitlets.Unicode("@jupyter-widgets/base").tag(sync=True)
    _model_module_version = traitlets.Unicode(__jupyter_widgets_base_version__).tag(sync=True)

    payload: dict[str, Any]
    _lock: RLock
    step = traitlets.Int(0).tag(sync=True)
    groups = traitlets.List(traitlets.Unicode()).tag(sync=True)
    hidden = traitlets.List(traitlets.Unicode()).tag(sync=True)
    every = traitlets.Bool(False).tag(sync=True)
    opened = traitlets.List(traitlets.Int()).tag(sync=True)

    def wait_for_press(self) -> None:
        """Return once no press is being carried out."""
        with self._lock:
            pass

    def stops(self) -> list[int]:
        """Return the steps at which the cursor stops, with the groups and what is hidden and folded as they are."""
        return walk(self.payload, tuple(self.groups), self.hidden, self.every, self.opened)

    def every_stop(self) -> list[int]:
        """Return the steps at which the cursor stops when nothing is folded."""
        return stops(self.payload, tuple(self.groups), self.hidden)

    def fold(self) -> list[int]:
        """Return the steps that are folded into the stop at the cursor or after it, whether it is opened or not."""
        return steps_in(self.every_stop(), self._list_unopened(), self.step)

    def _list_unopened(self) -> list[int]:
        return walk(self.payload, tuple(self.groups), self.hidden, self.every)

    def walk(self, action: str, target: str = "") -> None:
        """Do what a press of `WALKS` does: jump; `every` folds nothing, or again; `open` opens a fold, or folds again.

        ValueError if there is nothing to jump to or to open.
        """
        if action == "every":
            self.every = not self.every
            return
        aim = self.aim(action, target)
        if action == "open":
            self.opened = [stop for stop in self.opened if stop != aim] if aim in self.opened else [*self.opened, aim]
        else:
            self.step = aim

    def aim(self, action: str, target: str = "") -> int:
        """Return the step to which a jump leads, or the stop whose fold is opened; ValueError if there is none."""
        if action == "open":
            kept = self._list_unopened()
            if not steps_in(self.every_stop(), kept, self.step):
                raise ValueError("no step is folded here")
            return next(stop for stop in kept if stop >= self.step)
        places = self.stops()
        if action == "find":
            return find(self.payload, places, target)
        return jump(self.payload, places, self.every_stop(), self.step, action)
