"""Places on this machine and in an S3 server: the same calls do the same; what a server refuses is told in one line."""

from __future__ import annotations

import gc
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalab.checks.from_a_log import needs
from kafkalab.cli.captured import lacking_of
from kafkalab.cli.command_line import CommandLineError
from kafkalab.limits import Limit
from kafkalab.saved_data import CAPTURE
from kafkalab.spark.storage.history_files import INDEX, HistoryError, read_list
from kafkalab.spark.storage.places import Place, PlaceError, each, place_of
from kafkalab.spark.storage.scratch import NEW_S, scratch_at
from tests.spark.object_store import CREDENTIALS, Store, object_store

SMALL = Limit(100, "bytes")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with object_store() as store, pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        yield store


@pytest.fixture(params=["here", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "here":
        return place_of(tmp_path / "a b")
    store: Store = request.getfixturevalue("store")
    return place_of(store.uri(f"{tmp_path.name}/a%20b"))


def write(place: Place, content: bytes = b"x") -> None:
    with place.whole() as file:
        file.write(content)


def begin_and_fail(place: Place) -> None:
    with (place / "a").whole() as file:
        file.write(b"half")
        assert "a" not in place.files()
        raise ZeroDivisionError


def test_a_path_and_a_file_uri_are_places_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of("night") == place_of(Path("night")) == place_of(f"file://{tmp_path}/night")
    assert place_of("night").local == tmp_path / "night"
    assert place_of("file:///a%20b").local == Path("/a b")


def test_a_place_below_a_uri_keeps_its_options() -> None:
    night = place_of("s3://lab/made/night?region=eu-west-1")
    assert (night / "log/bucket=0").text == "s3://lab/made/night/log/bucket=0?region=eu-west-1"
    assert night.parent.text == "s3://lab/made?region=eu-west-1"
    assert (str(night / "a"), night.name, night.local) == ("s3://lab/made/night/a", "night", None)
    assert place_of("s3://lab?region=eu-west-1").parent.text == "s3://lab?region=eu-west-1"
    assert pickle.loads(pickle.dumps(night)) == place_of(night) == night


def test_what_is_written_is_listed_and_read(place: Place) -> None:
    assert place.files() == {}
    for name in ("b", "in/d=1/c", "a"):
        write(place / name, name.encode())
    assert list(place.files().items()) == [("a", 1), ("b", 1), ("in/d=1/c", 8)]
    assert (place.folders(), (place / "in").folders()) == (["in"], ["d=1"])
    assert ((place / "a").is_file(), place.is_file(), (place / "z").is_file()) == (True, False, False)
    assert each(lambda name: (place / name).open().read(), ["b", "a"], place) == [b"b", b"a"]
    with pytest.raises(FileNotFoundError):
        (place / "z").open()
    (place / "b").remove_file()
    assert list(place.files()) == ["a", "in/d=1/c"]
    place.remove()
    place.remove()
    assert (place.files(), place.parent.folders()) == ({}, [])


def test_a_file_is_whole_or_not_there(place: Place) -> None:
    with pytest.raises(ZeroDivisionError):
        begin_and_fail(place)
    assert place.files() == {}
    write(place / "a", b"first")
    write(place / "a", b"again")
    assert (place / "a").open().read() == b"again"


def test_json_that_is_damaged_or_too_large_is_named(place: Place) -> None:
    write(place / "a", json.dumps({"one": 1}).encode())
    assert (place / "a").json(SMALL) == {"one": 1}
    write(place / "a", b"{")
    with pytest.raises(ValueError, match=r"a is damaged: it is no JSON"):
        (place / "a").json(SMALL)
    write(place / "a", b"1" * 101)
    with pytest.raises(ValueError, match="the limit is 100"):
        (place / "a").json(SMALL)
    with pytest.raises(FileNotFoundError):
        (place / "b").json(SMALL)


def test_a_folder_without_its_list_is_no_history(place: Place) -> None:
    with pytest.raises(HistoryError, match=r"there is no folder .*a( |%20)b$"):
        read_list(place)
    write(place / "log/bucket=0/part-00000.parquet")
    with pytest.raises(HistoryError, match=f"has no {INDEX}: it is no history, or writing it did not come to its end"):
        read_list(place)


def test_a_capture_says_also_there_what_it_cannot_tell(place: Place) -> None:
    where = place.local or place
    assert lacking_of(where) == {}
    write(place / CAPTURE, json.dumps({"known": "log", "partitions": {}, "producers": {}}).encode())
    assert lacking_of(where) == needs("log") != {}
    write(place / CAPTURE, b'{"known": 1}')
    with pytest.raises(CommandLineError, match=r"capture.json is damaged"):
        lacking_of(where)


def test_scratch_elsewhere_goes_and_takes_with_it_what_is_a_day_old(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(store.uri("scratch"))
    write(place / "mine")
    left, new = scratch_at(place, ".audit-"), scratch_at(place, ".audit-")
    for one in (left, new):
        write(place_of(one.folder) / "table/a")
    left.remove.detach()  # its process was killed
    old = place_of(left.folder).newest() - NEW_S - 1
    monkeypatch.setattr(Place, "newest", lambda one: old if one == left.folder else old + NEW_S)
    last = scratch_at(place, ".audit-")
    write(place_of(last.folder) / "a")
    assert place.folders() == sorted(place_of(one.folder).name for one in (new, last))
    new.remove()
    del last
    gc.collect()
    assert store.names("scratch/") == ["scratch/mine"]


def test_a_file_is_as_new_as_its_store_says(place: Place) -> None:
    write(place / "in/a")
    assert abs(place.newest() - place.newest()) < 1
    assert place.newest() > NEW_S
    assert (place / "nothing").newest() > place.newest() - 1


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("xyz://lab/night", "cannot use xyz://lab/night: Unrecognized filesystem type in URI: xyz://lab/; the"),
        ("s3://lab/night?colour=red", "cannot use s3://lab/night: Unexpected query parameter in S3 URI: 'colour'"),
        ("s3:///night", "cannot use s3:///night: Missing bucket name in S3 URI"),
        ("hdfs://no.where/night", "hdfs needs Hadoop's libhdfs: set JAVA_HOME, HADOOP_HOME and CLASSPATH"),
    ],
)
def test_a_uri_that_opens_nothing_costs_one_line(uri: str, said: str) -> None:
    with pytest.raises(PlaceError) as caught:
        place_of(uri).files()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_password_in_a_uri_is_refused_and_not_repeated() -> None:
    with pytest.raises(PlaceError, match=r"write s3://lab/night, and set AWS_SECRET_ACCESS_KEY") as caught:
        place_of("s3://key:hunter2@lab/night")
    assert "hunter2" not in str(caught.value)


def test_a_bucket_that_is_not_there_and_a_stranger_are_told_what_to_do(store: Store) -> None:
    nowhere, night = place_of(store.uri("night", bucket="nowhere")), place_of(store.uri("night"))
    with pytest.raises(PlaceError, match=r"NO_SUCH_BUCKET .*; make the bucket first, or correct its name"):
        read_list(nowhere)
    with pytest.raises(PlaceError, match="make the bucket first"):
        write(nowhere / "a")
    store.heed_credentials(True)
    try:
        with pytest.raises(PlaceError, match=r"ACCESS_DENIED .*; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
            read_list(night)
        with pytest.raises(PlaceError, match=r"INVALID_ACCESS_KEY_ID .*; set AWS_ACCESS_KEY_ID"):
            night.files()
    finally:
        store.heed_credentials(False)


def test_a_server_that_does_not_answer_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_of("s3://lab/night")

    class Silent:
        def get_file_info(self, _: object) -> object:
            raise OSError("AWS Error NETWORK_CONNECTION during HeadObject operation: Could not connect to server\nmore")

    monkeypatch.setattr("kafkalab.spark.storage.places._file_system", lambda root: (Silent(), "lab"))
    with pytest.raises(PlaceError, match="Could not connect to server; check the host in endpoint_override, or the"):
        place.is_file()
