"""What the provider makes of a body before its cache sees it: what it leaves out, and what else is part of the key."""

from __future__ import annotations

import dataclasses
import functools

import simulated
from captured import UNMARKABLE as THINKING
from captured import Request, Segment, parse


def rendered(request: Request, thinking: str, images: str) -> Request:
    """The request as it is cached.

    `thinking` is `all` or `last`: whether thinking in front of what a user said last (results of tools are not said) is
    kept. `images` is `presence` or `off`: whether a prompt with an image has other messages than one without.
    """
    held = any(has_image(one.raw) for one in request.segments if one.section == "messages")
    kept = without_cleared(behind_summary(request.segments))
    kept = without_old_thinking(kept) if thinking == "last" else kept
    return dataclasses.replace(request, segments=kept, messages_key="image" if held and images == "presence" else "")


def behind_summary(segments: list[Segment]) -> list[Segment]:
    """Drops the messages in front of the last summary of the provider's (page on compaction, 2026-08)."""
    last = max((index for index, one in enumerate(segments) if one.kind == "compaction"), default=-1)
    return [one for index, one in enumerate(segments) if one.section != "messages" or index >= last]


@functools.cache
def has_image(raw: bytes) -> bool:
    """Whether a block is an image or a result with one."""
    return b"image" in raw and simulated.images(parse(raw)) > 0


def without_cleared(segments: list[Segment]) -> list[Segment]:
    """Drops system messages that are cleared by the next message of a user, where there is one."""
    last = max((index for index, one in enumerate(segments) if one.role == "user"), default=-1)
    return [one for index, one in enumerate(segments) if not (one.clears and index < last)]


def without_old_thinking(segments: list[Segment]) -> list[Segment]:
    """Drops thinking of the turns that a user's words have ended."""
    said = [index for index, one in enumerate(segments) if one.role == "user" and one.kind != "tool_result"]
    last = max(said, default=-1)
    return [one for index, one in enumerate(segments) if not (one.role == "assistant" and one.kind in THINKING and index < last)]
