"""Blocks and their tokens by docs/formats/simulator.md, worked out by hand."""

from __future__ import annotations

import unittest

import simulated
from captured import BadInput, Segment, parse
from source import Tool


def segment(raw: str, section: str = "messages") -> Segment:
    return Segment("/x", section, "", "", raw.encode())


class Rendering(unittest.TestCase):
    CASES = (
        ('{"type":"text","text":"a \\"b\\" \\u00e9"}', 'a "b" é'),
        ('{"type":"text","text":"a","citations":null}', "a"),
        ('{"type":"text","text":"a","citations":[1]}', 'citations=[1,]\ntext="a"\ntype="text"\n'),
        ('{"type":"thinking","thinking":"x\\\\y","signature":"s"}', 'signature="s"\nthinking="x\\\\y"\ntype="thinking"\n'),
        ('{"type":"tool_use","name":"n","input":{"b":1.0,"a":[true,null]}}', 'input={"b":1.0,"a":[true,null,],}\nname="n"\ntype="tool_use"\n'),
        ('{"type":"tool_result","tool_use_id":"t","content":"out","is_error":false}', 'tool_use_id="t"\ntype="tool_result"\nout'),
        (
            '{"type":"tool_result","is_error":true,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}',
            'is_error=true\ntype="tool_result"\na\x1ftext\x1fb',
        ),
    )

    def test_blocks_are_rendered(self) -> None:
        for raw, expect in self.CASES:
            with self.subTest(raw):
                self.assertEqual(simulated.render(parse(raw.encode())), expect)

    def test_definitions_stand_where_they_are_brought(self) -> None:
        raw = b'{"name":"n","description":"d","defer_loading":true,"cache_control":{"type":"ephemeral"}}'
        shown = 'description="d"\nname="n"\n'
        reference = '{"type":"tool_reference","tool_name":"n"}'
        addition = '{"type":"tool_addition","tool":{"type":"tool_reference","name":"n"}}'
        itself = 'tool={"type":"tool_reference","name":"n",}\ntype="%s"\n'
        cases = (
            (reference, True, shown),
            (reference, False, shown),
            (addition, True, itself % "tool_addition" + shown),
            (addition, False, itself % "tool_addition"),  # it stands in the array already
            (addition.replace("addition", "removal"), True, itself % "tool_removal"),
            ('{"type":"tool_result","content":[%s]}' % reference, True, 'type="tool_result"\n\x1ftool_reference\x1f' + shown),
            ('{"type":"tool_search_tool_result","content":{"tool_references":[%s]}}' % reference, True, 'type="tool_search_tool_result"\n\x1ftool_reference\x1f' + shown),
        )
        for block, deferred, expect in cases:
            with self.subTest(block):
                self.assertEqual(simulated.render(parse(block.encode()), tools={"n": Tool("n", "", raw, deferred)}), expect)

    def test_tools_leave_out_the_usual_type(self) -> None:
        raw = b'{"name":"n","type":"custom","input_schema":{"type":"object"}}'
        self.assertEqual(simulated.render(parse(raw), tool=True), 'input_schema={"type":"object",}\nname="n"\n')

    def test_tokens_are_counted(self) -> None:
        image = '{"type":"image","source":{"type":"base64","data":"AAAA"}}'
        result = '{"type":"tool_result","tool_use_id":"t","content":[%s,%s]}' % (image, image)
        texts = (("", 4), ("abc", 5), ("abcd", 6), ("abcdefg", 6), ("abcdefgh", 7), ("ééé", 6))
        cases = [('{"type":"text","text":"%s"}' % text, expect) for text, expect in texts]
        for raw, expect in [*cases, (image, 1_504), (result, 3_004)]:
            with self.subTest(raw):
                self.assertEqual(simulated.tokens(segment(raw)), expect)

    def test_what_stands_elsewhere_is_refused(self) -> None:
        for raw in ('{"type":"tool_reference","tool_name":"n"}', '{"type":"tool_addition","tool":{"type":"tool_reference","name":"n"}}', ""):
            with self.subTest(raw), self.assertRaises(BadInput):
                simulated.tokens(segment(raw))


if __name__ == "__main__":
    unittest.main()
