"""Which site plays each role in the paper's model? Used on that model, and shown beside the roles of any other run."""

from collections.abc import Mapping

LAYERS = 28
"""Of Qwen2.5-7B-Instruct."""
SITES: Mapping[str, tuple[int, ...]] = {
    "number_layer": (13,),
    "transport_head": (14, 14),
    "number_layer_k3": (13,),
    "transport_head_y1": (14, 14),
    "transport_head_y2": (14, 18),
    "comparator_mlps": (14, 15),
    "flag_layer": (15,),
    "readout_layer": (20,),
    "readout_layer_k3": (20,),
    "readout_head": (20, 27),
}
"""Every role. `transport_head` carries y1 to y2's position (two operands), `transport_head_y1` and `transport_head_y2`
carry y1 and y2 to y3's (three operands)."""
