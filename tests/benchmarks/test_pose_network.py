"""The network that conversions are timed with is one that TFLite's reader, and the way to TOSA, take whole."""

from __future__ import annotations

from pose_network import pose_network

import transload
from transload.contents import dialects_in
from transload.plugin import Source
from transload_converters.tflite.reader import read


def test_the_pose_network_converts_to_tosa_and_is_the_same_each_time():
    content = pose_network()
    assert content == pose_network()
    module = read(Source(_data=content, name="<pose>"))
    assert [str(type_) for type_ in module.outputs.values()] == ["tensor<1x85xf32>"]
    assert set(dialects_in(transload.lower(module, "tosa"))) == {"tosa"}
