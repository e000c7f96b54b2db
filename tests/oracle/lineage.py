"""Does a request extend what its lane sent before? Judged on plain text, and again on bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from captured import Request


@dataclass
class Verdict:
    """How a request relates to what was sent before."""

    n: int
    verdict: str  # first | new | moved | extends | branches | diverges
    against: int | None
    shared: int
    segments: int
    bytes_equal: bool | None  # of the part it must share; None where nothing has to be
    opens: bool
    difference: dict[str, Any] | None = None
    lane_changed: list[str] = field(default_factory=list)
    ok: bool = True


def common(left: Sequence[Any], right: Sequence[Any]) -> int:
    """Length of the common prefix."""
    return next((at for at, (one, other) in enumerate(zip(left, right)) if one != other), min(len(left), len(right)))


def shared_segments(earlier: Request, later: Request) -> int:
    return common([one.text for one in earlier.segments], [one.text for one in later.segments])


def difference(pointers: tuple[str, str], left: Any, right: Any) -> dict[str, Any]:
    """Names the first differing character (or byte) of two texts."""
    at = common(left, right)
    shown = [text[max(0, at - 20) : at + 40] for text in (left, right)]
    shown = [text.decode(errors="replace") if isinstance(text, bytes) else text for text in shown]
    return {"earlier": pointers[0], "later": pointers[1], "offset": at, "earlier_text": shown[0], "later_text": shown[1]}


def segment_difference(earlier: Request, later: Request, shared: int) -> dict[str, Any] | None:
    if shared in (len(later.segments), len(earlier.segments)):
        return None
    left, right = earlier.segments[shared], later.segments[shared]
    return difference((left.pointer, right.pointer), left.text, right.text)


def bytes_difference(earlier: Request, later: Request, shared: int) -> dict[str, Any] | None:
    """Compares the elements that the shared segments fill; None when their bytes are equal.

    An element ends where its source ends, so equal lists of elements are equal concatenations, and never by accident.
    An earlier request that is shared whole must be a prefix in bytes too, its last element included.
    """
    filled = [request.segments[shared].element if shared < len(request.segments) else len(request.elements) for request in (earlier, later)]
    whole = filled[0] if shared == len(earlier.segments) else min(filled)
    for left, right in zip(earlier.elements[:whole], later.elements):
        if left[1] != right[1]:
            return difference((left[0], right[0]), left[1], right[1])
    return None


def relation(earlier: Sequence[Request], later: Request) -> tuple[str, Request, int]:
    """Finds the request that shares most; ties go to one that went on differently, then to the newest.

    So a request that drops or edits the newest turn does not pass for an extension of the turn before it.
    """
    found = [(shared_segments(one, later), one) for one in earlier]
    shared, _, nearest = max(((shared, len(one.segments) > shared, index) for index, (shared, one) in enumerate(found)))
    if len(earlier[nearest].segments) == shared:
        return "extends", earlier[nearest], shared
    head = max(earlier[nearest].head, later.head, 1)
    return "branches" if shared >= head else "diverges", earlier[nearest], shared


def judge(earlier: Sequence[Request], later: Request) -> Verdict:
    """Judges one request against all earlier ones that the provider took."""
    lane = [one for one in earlier if one.lane == later.lane]
    verdict = Verdict(later.n, "first" if not earlier else "new", None, 0, len(later.segments), None, later.opens)
    if not earlier or (not lane and later.opens):
        return verdict
    verdict.verdict, nearest, verdict.shared = relation(lane or earlier, later)
    verdict.against, verdict.lane_changed = nearest.n, sorted({key for key, _ in set(later.lane) ^ set(nearest.lane)})
    verdict.difference = segment_difference(nearest, later, verdict.shared)
    if not lane:
        verdict.verdict = "moved"
    elif verdict.verdict != "diverges":
        found = bytes_difference(nearest, later, verdict.shared)
        verdict.bytes_equal, verdict.difference = found is None, verdict.difference or found
    return verdict


def extends(
    requests: Sequence[Request], require: str = "extends", new_ok: bool = False, lane_ok: bool = False, strict_bytes: bool = True
) -> list[Verdict]:
    """Judges each request; the very first one of a capture has nothing to extend."""
    fine = {"first", "extends"} | ({"branches"} if require == "branches" else set()) | ({"moved"} if lane_ok else set())
    verdicts: list[Verdict] = []
    taken: list[Request] = []
    for later in requests:
        verdict = judge(taken, later)
        same = verdict.bytes_equal is not False or not strict_bytes
        verdict.ok = same and (verdict.verdict in fine or (new_ok and later.opens))
        verdicts.append(verdict)
        taken += [later] if later.status in (200, None) else []
    return verdicts
