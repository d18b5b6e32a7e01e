"""Listen to the browser: whatever it sends is noted and answered, and never raised."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Any, ClassVar, NoReturn
from uuid import uuid4

import anywidget
import traitlets
from ipywidgets.widgets.widget import JUPYTER_WIDGETS_ECHO
from traitlets import TraitError

from kafkalab.limits import quote, truncate
from kafkalab.saved_data import check_plain

Content = dict[str, Any]
OF_IPYWIDGETS = ("_view_count", "_dom_classes", "layout", "tabbable", "tooltip")


class MessageWidget(anywidget.AnyWidget):
    """A widget that the browser may send messages and values.

    `SETTABLE` names the traits that the browser may set; it gets the kernel's value back for any other, and for a value
    that the trait refuses. `hear` names what is done with a message of each kind.
    """

    SETTABLE: ClassVar[tuple[str, ...]] = ()
    LONG: ClassVar[tuple[str, ...]] = ()
    """Fields of a message that its handler limits itself."""

    _own_id = traitlets.Unicode().tag(sync=True)

    def __init_subclass__(cls, **options: Any) -> None:
        """Let `press` and `possible` refuse an action or a target that is no text with a sentence."""
        super().__init_subclass__(**options)
        for name in ("press", "possible"):
            if name in vars(cls):
                setattr(cls, name, _of_texts(vars(cls)[name]))

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. ValueError, which says what fits, for a value that a trait refuses."""
        try:
            super().__setattr__(name, value)
        except TraitError:
            raise ValueError(f"{name} is {_kind_of(self.traits()[name])}, not {quote(value)}") from None

    def __init__(self, **values: Any) -> None:
        """Tell the browser the id of its model, by which it finds it: see `hearAlways` in the pictures."""
        own = uuid4().hex
        super().__init__(model_id=own, _own_id=own, **values)

    def hear(self, handlers: dict[str, Callable[[Content], Any]]) -> None:
        """Call the handler of a message's `kind` with the message; an error is answered as a sentence."""

        def on_message(_: Any, content: Any, buffers: Any) -> None:
            self._try_action(lambda: self._handle(handlers, content))

        self.on_msg(on_message)

    def _handle(self, handlers: dict[str, Callable[[Content], Any]], content: Any) -> None:
        kind = content.get("kind") if isinstance(content, dict) else None
        if not isinstance(kind, str) or kind not in handlers:
            raise ValueError(f"a message has a kind, {' or '.join(handlers)}, not {quote(content)}")
        for name, value in content.items():
            if name not in self.LONG:
                check_plain(value, quote(name))
        handlers[kind](content)

    def _try_action(self, action: Callable[[], Any]) -> bool:
        """Do it; note an error in the log and send it as a sentence. Return whether all went well."""
        try:
            action()
        except Exception as error:
            expected = isinstance(error, ValueError | RuntimeError | TraitError)
            note = self.log.debug if expected else self.log.error
            note("%s: %s", type(self).__name__, truncate(error), exc_info=not expected)
            with suppress(Exception):  # nobody listens any more
                self.send({"kind": "error", "text": sentence(error)})
            return False
        return True

    def _handle_msg(self, msg: Any) -> None:
        """Handle a message of ipywidgets' own protocol (`Widget._handle_msg`), of any shape."""
        try:
            data = msg["content"]["data"]
            method = data["method"]
        except (KeyError, TypeError):
            what = quote(msg)
            self._try_action(lambda: _raise(f"this is no message of a widget: {what}"))
            return
        if method == "custom":
            self._try_action(lambda: self._handle_custom_msg(data.get("content"), msg.get("buffers")))
        elif method == "update":
            self._try_action(lambda: self.set_state(data.get("state")))
        elif method == "request_state":
            self._try_action(self.send_state)
        else:
            self._try_action(lambda: _raise(f"no method {quote(method)}; there are update, custom"))

    def set_state(self, sync_data: Any) -> None:
        """Take over the values that the browser may set, one by one; send back those that it may not, or are wrong."""
        if not isinstance(sync_data, dict):
            raise ValueError(f"a state is an object with values, not {quote(sync_data)}")
        refused = []
        for name, value in sync_data.items():
            if name not in self.keys:
                continue
            if not self._try_action(partial(self._take_over, name, value)):
                refused.append(name)
        if refused:
            echo = {"method": "echo_update", "state": {name: sync_data[name] for name in refused}, "buffer_paths": []}
            if JUPYTER_WIDGETS_ECHO:  # the browser ignores updates until its own value has come back
                self._send(echo, buffers=[])
            self.send_state(refused)

    def _take_over(self, name: str, value: Any) -> None:
        """Set the trait. It is validated first: ipywidgets would set it, and then find that it is wrong."""
        if name not in (*self.SETTABLE, *OF_IPYWIDGETS):
            raise ValueError(f"{name} is not set by the browser; it may set {', '.join(self.SETTABLE) or 'nothing'}")
        check_plain(value, name)
        from_json = self.trait_metadata(name, "from_json", self._trait_from_json)
        try:
            self.traits()[name]._validate(self, from_json(value, self))
        except TraitError:
            raise ValueError(f"{name} cannot be {quote(value)}") from None
        super().set_state({name: value})


_KINDS = {traitlets.Int: "a whole number", traitlets.Bool: "True or False", traitlets.Unicode: "a text"}


def _kind_of(trait: Any) -> str:
    """Return what a trait holds: "a whole number", "a list in which each is a text", "'laptop' or 'projector'"."""
    if isinstance(trait, traitlets.Enum):
        return " or ".join(map(repr, trait.values or ()))
    if isinstance(trait, traitlets.List) and trait._trait is not None:
        return f"a list in which each is {_kind_of(trait._trait)}"
    return next((text for kind, text in _KINDS.items() if isinstance(trait, kind)), str(trait.info()))


def _of_texts(press: Callable[..., Any]) -> Callable[..., Any]:
    """Return `press` with a ValueError for an action or a target that is no text."""

    @wraps(press)
    def check_texts(self: Any, action: str, target: str = "", **details: Any) -> Any:
        for name, given in (("action", action), ("target", target)):
            if not isinstance(given, str):
                raise ValueError(f"the {name} of a press is a text, not {quote(given)}")
        return press(self, action, target, **details)

    return check_texts


def _raise(text: str) -> NoReturn:
    raise ValueError(text)


def sentence(error: Exception) -> str:
    """Return the first line of an error's message as a sentence."""
    text = truncate(str(error) or type(error).__name__)
    begin = text[:1] if re.match(r"\w*\d", text) else text[:1].upper()  # b2 stays b2
    return begin + text[1:] + ("" if text.endswith((".", "?", "…")) else ".")
