"""The picture of the house shows the rooms that there are, each with the rooms that it may know."""

import importlib.util
from itertools import pairwise
from pathlib import Path

import pytest

import test_layers

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("draw_house", ROOT / "scripts/draw_house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_drawn_from_the_table_of_rooms(house):
    assert house.PICTURE.read_text() == house.picture(test_layers.ROOMS), "run python scripts/draw_house.py"
    assert house.rooms() == test_layers.ROOMS


def test_another_table_would_be_another_picture(house):
    rooms = dict(test_layers.ROOMS)
    assert house.picture({**rooms, "claims": rooms["claims"] | {"tasks"}}) != house.picture(rooms)
    with pytest.raises(ValueError, match="cellar"):
        house.picture({**rooms, "cellar": frozenset()})


def test_what_a_room_knows_is_below_it_or_in_the_wing_of_results(house):
    for name, known in test_layers.ROOMS.items():
        for other in known:
            below = house.PLAN[other].floor < house.PLAN[name].floor
            assert below or other == "results", f"{name} knows {other}, which is not below it"


def test_data_goes_from_room_to_room_through_doors_that_exist(house):
    for giver, taker in pairwise(house.WAY_THROUGH):
        assert giver in test_layers.ROOMS[taker] or taker in test_layers.ROOMS[giver]
