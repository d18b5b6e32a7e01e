"""A card that asks for a prediction, keeps it while the run is walked, then shows what happened and the score.

With criteria the card asks for a sentence instead, and shows a model answer beside it. That earns no points.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar, NamedTuple

import traitlets

from kafkalab.limits import quote
from kafkalab.palette import AMBER, BLUE, DARK, DIM, PALE
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.payload.text import stops
from kafkalab.widgets.views.canvas import BOLD, Canvas, fit, standalone
from kafkalab.widgets.views.view import Picture, View

SEAL = "sealed-1:"
Answer = str | int | float | list[str]
ASKED = "What do you think? The card keeps your answer until you ask what happened."
KEPT = "You said {}. Walk on; then press “What happened?” here, or where this card is shown again."
RIGHT = "Your answer, {}, is right."
WRONG = "Your answer, {}, is wrong. It is {}."
EXPLAIN = "Write one sentence, then compare it with a model answer. It earns no points."
COMPARE = "Compare the two sentences, and tick what yours says, too."
LEAST_WORDS = 4
"""A sentence has at least so many words."""


class Sealed(NamedTuple):
    """Hold the content of a seal: the answer, the reason, and the criteria of a sentence."""

    answer: Answer
    because: str = ""
    criteria: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """The number of this notebook's cards that were right when first told, wrong, or not told yet."""

    right: int
    wrong: int
    open: int

    def __str__(self) -> str:
        asked = self.right + self.wrong + self.open
        return f"{self.right} of {asked} right" + (f", {self.open} still open" if self.open else "")


class Predict(Picture):
    """A question to answer before a walk: `Predict("Who?", choices={"a": "b1", "b": "b3"}, answer="b")`.

    The card keeps the answer, which may be changed, until `press("tell")`; only then it says what is true and why.
    Show the same card again after the walk. Without `choices` a number or a text is asked for; of a text any of
    several may be right, and capitals do not matter. With a journey and a `step` its cursor waits in front of that
    step, and the card tells as soon as the cursor has reached it. `sealed` takes what `Predict.seal(answer, because)`
    gives: then no cell shows the answer.

    With `criteria` a sentence is asked for: `Predict("Why …?", answer="Because …", criteria=("names …", …))`. Once it
    is written the card shows the answer and the criteria; each can be ticked. The score does not count it.
    """

    part = "predict"
    cards: ClassVar[dict[str, Predict]] = {}

    question = traitlets.Unicode("").tag(sync=True)
    choices = traitlets.Dict().tag(sync=True)
    kind = traitlets.Unicode("text").tag(sync=True)
    given = traitlets.Unicode("").tag(sync=True)
    verdict = traitlets.Unicode("").tag(sync=True)
    truth = traitlets.Unicode("").tag(sync=True)
    because = traitlets.Unicode("").tag(sync=True)
    score_text = traitlets.Unicode("").tag(sync=True)
    criteria = traitlets.List(traitlets.Unicode()).tag(sync=True)
    ticked = traitlets.List(traitlets.Int()).tag(sync=True)
    now = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self, question: str, choices: dict[str, str] | None = None, answer: Answer | None = None, because: str = "",
        sealed: str = "", journey: Journey | View | None = None, step: int | None = None, size: str = "laptop",
        criteria: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Open the card and count it; it replaces a previous card with the same question.

        ValueError for an answer that is no choice, for none at all, and for a seal that was cut or changed.
        """
        if sealed:
            answer, because, criteria = _unseal(sealed)
        if answer is None:
            raise ValueError("a card needs its answer: answer=…, or sealed=… from Predict.seal(answer, because)")
        if choices and str(answer) not in choices:
            raise ValueError(f"the answer {answer!r} is none of the choices {', '.join(choices)}")
        self._answer, self._because, self._criteria, self._right = answer, because, list(criteria), False
        self._journey = None if journey is None else Journey.of(journey)
        self._step = step
        kind = "choice" if choices else "number" if isinstance(answer, (int, float)) else "text"
        kind, self.asked = ("sentence", EXPLAIN) if criteria else (kind, ASKED)
        score = ""
        if not criteria:
            Predict.cards[question] = self
            score = str(Predict.score())  # all of it is in the widget's first state: an update may come before the view
        first = {"question": question, "choices": choices or {}, "kind": kind, "now": self.asked, "score_text": score}
        super().__init__(size=size, **first)
        self._tell_score()
        if self._journey is not None and step is not None:
            before = [s for s in stops(self._journey.payload, tuple(self._journey.groups)) if s < step]
            self._journey.step = before[-1] if before else 0
            self._journey.observe(self._tell_at_step, "step")
        self.hear({"press": lambda said: self.press(str(said.get("action")), str(said.get("target", "")))})

    @staticmethod
    def seal(answer: Answer, because: str = "", criteria: Sequence[str] = ()) -> str:
        """Return answer, reason and criteria as a token for `sealed`, which cannot be read by accident."""
        told = [answer, because, list(criteria)] if criteria else [answer, because]
        packed = zlib.compress(json.dumps(told, ensure_ascii=False).encode(), 9)
        check = sha256(packed).digest()[:4]
        return SEAL + base64.urlsafe_b64encode(check + mix(packed, check)).decode()

    def seal_answer(self) -> str:
        """Return this card's answer, reason and criteria as a token."""
        return self.seal(self._answer, self._because, self._criteria)

    @classmethod
    def score(cls) -> Score:
        """Return the score of all cards of this notebook; the first answer counts."""
        right = sum(card._right for card in cls.cards.values())
        done = sum(bool(card.verdict) for card in cls.cards.values())
        return Score(right, done - right, len(cls.cards) - done)

    def press(self, action: str, target: str = "") -> None:
        """`press("choose", "b")` or `press("answer", "42")` keeps an answer, in place of an earlier one.

        `press("tell")` says what is true and why; the score counts the first time. `press("again")` asks once more.
        A sentence is compared as soon as it is given; then `press("tick", "0")` ticks the first criterion, or takes
        the tick away. ValueError for what is no choice, number or sentence, for a card without an answer, for one that
        is told already, and for another action.
        """
        known = ("answer", "tick", "again") if self.kind == "sentence" else ("choose", "answer", "tell", "again")
        if action not in known:
            raise ValueError(f"no action {quote(action)}; there are {', '.join(known)}")
        if action in ("again", "tick") and not self.verdict:
            raise ValueError("this card is not told yet")
        if action == "tick":
            self._tick(target)
        elif action == "again":
            with self.hold_sync():
                self.given = self.verdict = self.truth = self.because = ""
                self.criteria, self.ticked = [], []
                self.now, self._counted = self.asked, True
        elif self.verdict:
            raise ValueError('this card is told already; press("again") asks once more')
        elif action == "tell":
            self._tell()
        else:
            self._keep(target.strip())

    _counted = False

    def _keep(self, given: str) -> None:
        if self.kind == "choice" and given not in self.choices:
            raise ValueError(f"no choice {quote(given)}; there are {', '.join(self.choices)}")
        if self.kind == "number" and _number(given) is None:
            raise ValueError(f"a number is asked for, not {quote(given)}")
        if not given:
            raise ValueError("type an answer first")
        if self.kind == "sentence":
            return self._compare(given)
        self.given, self.now = given, KEPT.format(given)

    def _compare(self, sentence: str) -> None:
        if len(sentence.split()) < LEAST_WORDS:
            raise ValueError("write a whole sentence first")
        with self.hold_sync():
            self.given, self.verdict, self.truth, self.because = sentence, "compared", str(self._answer), self._because
            self.criteria, self.ticked, self.now = self._criteria, [], COMPARE
        if self._journey is not None and self._step is not None:
            self._journey.step = self._step

    def _tick(self, target: str) -> None:
        if target not in map(str, range(len(self.criteria))):
            raise ValueError(f"no criterion {quote(target)}; there are 0 to {len(self.criteria) - 1}")
        self.ticked = sorted({*self.ticked} ^ {int(target)})

    def _tell(self) -> None:
        if not self.given:
            raise ValueError("answer first; then the card tells")
        right = self._is_right(self.given)
        self._right = self._right if self._counted else right
        truth = str(self._answer if not isinstance(self._answer, list) else self._answer[0])
        with self.hold_sync():
            self.verdict, self.truth, self.because = "right" if right else "wrong", truth, self._because
            self.now = RIGHT.format(self.given) if right else WRONG.format(self.given, truth)
            self._tell_score()  # in the same message: no page shows the verdict beside an old score
        if self._journey is not None and self._step is not None:
            self._journey.step = self._step

    def _tell_at_step(self, change: dict[str, int]) -> None:
        """Tell once the cursor has reached the step, if an answer is kept."""
        if self.given and not self.verdict and self._step is not None and change["new"] >= self._step:
            self._tell()

    @classmethod
    def _tell_score(cls) -> None:
        for card in cls.cards.values():
            card.score_text = str(cls.score())

    def _is_right(self, given: str) -> bool:
        if self.kind == "number":
            return _number(given) == float(self._answer)  # type: ignore[arg-type]
        answers = self._answer if isinstance(self._answer, list) else [str(self._answer)]
        return given.casefold() in [" ".join(a.split()).casefold() for a in answers]

    @property
    def title(self) -> str:
        """Return what the card asks for, in one to three words."""
        return "In one sentence" if self.kind == "sentence" else "Predict"

    def text(self) -> str:
        """Return the question, the choices, what the card says now; once it is told, why and the score."""
        lines = [f"{self.title}: {self.question}"]
        if self.kind == "sentence":
            mine = [f"Your sentence: {self.given}", f"A model answer: {self.truth}"] if self.verdict else []
            ticks = [f" {'☑' if at in self.ticked else '☐'} {text}" for at, text in enumerate(self.criteria)]
            return "\n".join(line for line in (*lines, *mine, self.now, *ticks, self.because) if line)
        for key, choice in self.choices.items():
            kept = "•" if key == self.given else " "
            sign = "✓" if key == self.truth else "✕" if self.verdict and key == self.given else kept
            lines.append(f" {sign} {key}) {choice}")
        score = self.score_text if self.verdict else ""
        return "\n".join(line for line in (*lines, self.now, self.because, score) if line)

    def svg(self) -> str:
        """Return the question and the choices only, whatever was answered."""
        canvas, left = Canvas(y=30), 150 if self.kind == "sentence" else 80
        canvas.text(18, canvas.y, self.title, AMBER, more=BOLD)
        canvas.text(left, canvas.y, fit(self.question, 920 - left, 14), DARK, more=BOLD + ' font-size="14"')
        for key, choice in self.choices.items():
            canvas.y += 32
            canvas.box(18, canvas.y - 18, 922, 26, BLUE, f' rx="4" fill="{PALE}"')
            canvas.text(30, canvas.y, f"{key})", BLUE, more=BOLD)
            canvas.text(54, canvas.y, fit(choice, 860))
        if not self.choices:
            canvas.y += 30
            asked = self.kind if self.kind in ("number", "sentence") else "word"
            canvas.text(18, canvas.y, f"A {asked} is asked for.", DIM)
        return standalone(canvas, f"{self.title}: {self.question}")

    def __repr__(self) -> str:
        return f"<Predict {self.question!r}, {self.verdict or 'open'}>"


def _number(text: str) -> float | None:
    try:
        return float(text.replace(" ", ""))
    except ValueError:
        return None


def mix(data: bytes, key: bytes) -> bytes:
    """Return the data under a key stream; a second time returns the data."""
    stream = b""
    while len(stream) < len(data):
        stream += sha256(key + len(stream).to_bytes(4, "big")).digest()
    return bytes(a ^ b for a, b in zip(data, stream, strict=False))


def _unseal(token: str) -> Sealed:
    try:
        raw = base64.urlsafe_b64decode(token.removeprefix(SEAL).encode())
        packed = mix(raw[4:], raw[:4])
        if not token.startswith(SEAL) or sha256(packed).digest()[:4] != raw[:4]:
            raise ValueError
        return Sealed(*json.loads(zlib.decompress(packed)))
    except (ValueError, zlib.error):
        raise ValueError("this seal was cut or changed; make it anew with Predict.seal(answer, because)") from None
