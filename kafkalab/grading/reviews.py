"""Reviews of configurations: the learner names what each line, or each configuration, breaks; runs say what it does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.sim.cluster import Cluster, ran

if TYPE_CHECKING:
    from kafkalab.sim.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A line or a configuration under review: how it is written, what it breaks, and the runs that show it.

    `breaks` has a run for each of its effects; `run` is shown for an effect that it does not have. `miss` returns the
    misconception of a learner who names `said`, of which `word` is wrong or missing. `look` says where to look, and
    `step` finds the step that decides in each run.
    """

    shown: str
    breaks: Mapping[str, Scenario]
    run: Scenario
    miss: Callable[[Collection[str], str], str]
    look: str = ""
    step: Callable[[Cluster], int] | None = None


def judge_review(reviewed: Sequence[Reviewed], said: Sequence[Collection[str]], what: str) -> str:
    """ "11 of 11 lines" if `said` has exactly the effects of each; WrongAnswer opens a run of one that differs."""
    total = len(reviewed)
    wrong = [place for place, one in enumerate(reviewed) if set(said[place]) != set(one.breaks)]
    if not wrong:
        return f"{total} of {total} {what}s"
    one, words = reviewed[wrong[0]], said[wrong[0]]
    missing, extra = sorted(set(one.breaks) - set(words)), sorted(set(words) - set(one.breaks))
    word = (missing or extra)[0]
    told = " and ".join(map(repr, sorted(words))) or "that nothing breaks"
    saying = f"You say {told}. The run below shows what you do not say."
    if not missing:
        saying = f"You say {word!r}, and no run shows it."
    run = one.breaks.get(word, one.run)
    raise WrongAnswer(
        f"{total - len(wrong)} of {total} {what}s are judged right. One that is not: {one.shown}. {saying} "
        f"{one.look}".rstrip(),
        run=run,
        step=one.step(ran(run)) if one.step else -1,
        miss=one.miss(words, word),
        part=part_of(reviewed, said),
    )


def part_of(reviewed: Sequence[Reviewed], said: Sequence[Collection[str]]) -> float:
    """Return the part of all effects that are named, less one for each that is named and not there; at least 0."""
    pairs = [(set(one.breaks), set(words)) for one, words in zip(reviewed, said, strict=True)]
    named = sum(len(truth & words) - len(words - truth) for truth, words in pairs)
    return max(0, named) / sum(len(truth) for truth, _ in pairs)


def read_lines(
    answer: Any, names: Collection[str], form: str, clean: Callable[[str], str] = str.strip
) -> dict[str, Any]:
    """Return what the answer, a dict, says of the lines that it names; `clean` makes of a key the line's name.

    BlankAnswer for none, WrongType for no dict, WrongValue for a line that is not in the files.
    """
    if is_blank(answer) or (isinstance(answer, Mapping) and all(map(is_blank, answer.values()))):
        raise BlankAnswer(f"The form is still blank. Give {form}.")
    if not isinstance(answer, Mapping):
        raise WrongType(f"Give {form}, not {describe(answer)}.")
    found = {clean(str(name)): said for name, said in answer.items()}
    for name, cleaned in zip(answer, found, strict=True):
        if cleaned not in names:
            raise WrongValue(f"There is no line {name!r} to judge. Give {form}.")
    return found


def read_word(word: object, words: Collection[str], where: str, form: str) -> str:
    """Return the effect that is named of a line; WrongValue for none of `words`."""
    if word not in words:
        raise WrongValue(f"For {where} you give {word!r}, no word of this exercise. Give {form}.")
    return str(word)
