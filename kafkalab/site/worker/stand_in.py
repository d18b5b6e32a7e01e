"""Stand in for anywidget and ipywidgets where there is no kernel: a widget's values and messages go to `post`.

Both packages need IPython, comms and a second to import; the pictures use a small part of them. `Widget` has that part,
named and behaving as in ipywidgets (`ipywidgets/widgets/widget.py`), so `kafkalab.widgets` runs on it unchanged.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from traitlets import HasTraits

Post = Callable[[dict[str, Any]], None]
REFERENCE = "IPY_MODEL_"
"""The prefix of a widget's id where one widget names another."""
LOG = logging.getLogger("kafkalab")


class Page:
    """The page that the widgets are shown in: where they send to, and the widgets by id."""

    def __init__(self, post: Post) -> None:
        """Send everything to `post`."""
        self.post = post
        self.widgets: dict[str, Widget] = {}


class Widget(HasTraits):
    """The part of `anywidget.AnyWidget` that `kafkalab.widgets` needs. Its class's `shown_in` is where it is shown."""

    shown_in = Page(lambda _: None)
    log = LOG

    def __init__(self, model_id: str = "", **values: Any) -> None:
        """Take the id, by which the page will know the widget."""
        # names that no picture has for itself, as far as they are not those of ipywidgets
        self.model_id, self._page_has = "", dict[str, Any]()
        self._held_back: list[str] | None = None
        self._hearing: list[Callable[[Any, Any, Any], None]] = []
        self.keys = [name for name in self.trait_names(sync=True) if name != "parts"]  # the page has them as files
        super().__init__(**values)
        self.model_id = model_id
        self.shown_in.widgets[model_id] = self

    def close(self) -> None:
        """Forget the widget."""
        self.shown_in.widgets.pop(self.model_id, None)

    # values

    def get_state(self, keys: Iterable[str]) -> dict[str, Any]:
        """Return the values of these traits as the page gets them."""
        return {k: self.trait_metadata(k, "to_json", lambda value, _: value)(getattr(self, k), self) for k in keys}

    def send_state(self, keys: str | Iterable[str] | None = None) -> None:
        """Send the values of these traits, or of all."""
        state = self.get_state(self.keys if keys is None else [keys] if isinstance(keys, str) else keys)
        self._page_has |= {name: value for name, value in state.items() if name in self._page_has}
        self.shown_in.post({"kind": "update", "id": self.model_id, "state": state})

    def notify_change(self, change: Any) -> None:
        """Send a changed value, then call its observers."""
        name = change["name"]
        if self.model_id and name in self.keys and self._is_news(name):
            self.send_state(name)
        super().notify_change(change)

    def _is_news(self, name: str) -> bool:
        if name in self._page_has and self.get_state([name])[name] == self._page_has[name]:
            return False
        if self._held_back is None:
            return True
        if name not in self._held_back:
            self._held_back.append(name)
        return False

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Send the values that change inside as one message at the end."""
        if self._held_back is not None:
            yield
            return
        self._held_back = []
        try:
            yield
        finally:
            held, self._held_back = self._held_back, None
            if held:
                self.send_state(held)

    @contextmanager
    def _lock_property(self, **properties: Any) -> Iterator[None]:
        """Send none of these values back: the page knows them."""
        self._page_has = properties
        try:
            yield
        finally:
            self._page_has = {}

    @staticmethod
    def _trait_from_json(value: Any, _: Any) -> Any:
        return value

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take over values of the page."""
        with self._lock_property(**sync_data), self.hold_trait_notifications():
            for name in filter(self.keys.__contains__, sync_data):
                from_json = self.trait_metadata(name, "from_json", self._trait_from_json)
                self.set_trait(name, from_json(sync_data[name], self))

    # messages

    def send(self, content: Any, buffers: Any = None) -> None:
        """Send a message to the model in the page."""
        self.shown_in.post({"kind": "custom", "id": self.model_id, "content": content})

    def on_msg(self, callback: Callable[[Any, Any, Any], None]) -> None:
        """Call `callback(widget, content, buffers)` for each message of the page."""
        self._hearing.append(callback)

    def _handle_custom_msg(self, content: Any, buffers: Any) -> None:
        for callback in self._hearing:
            callback(self, content, buffers)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {}


def _refer(widget: Widget, _: Any) -> str:
    return f"{REFERENCE}{widget.model_id}"


def install() -> None:
    """Make `import anywidget` and `import ipywidgets` give the stand-ins from now on."""
    modules: dict[str, dict[str, Any]] = {
        "anywidget": {"AnyWidget": Widget},
        "ipywidgets": {"Widget": Widget, "widget_serialization": {"to_json": _refer}},
        "ipywidgets._version": {"__jupyter_widgets_base_version__": ""},
        "ipywidgets.widgets": {},
        "ipywidgets.widgets.widget": {"JUPYTER_WIDGETS_ECHO": False},
    }
    for name, values in modules.items():
        module = sys.modules[name] = ModuleType(name)
        vars(module).update(values)
