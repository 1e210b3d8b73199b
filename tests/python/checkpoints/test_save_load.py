"""Checkpoints that one process writes and reads: every kind of value, errors, damage."""

import json
import os

import pytest
import torch
import torch.distributed.checkpoint as dcp

import ranks  # noqa: F401  (one thread, fewer warnings)
import sheaf
from sheaf.errors import DamagedError, NotFoundError, UnsupportedError
from sheaf.torch import SheafReader, SheafWriter

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
]


def value_of(dtype):
    return torch.arange(24).reshape(4, 6).remainder(2 if dtype == torch.bool else 50).to(dtype)


def emptied(value):
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value)
    if isinstance(value, dict):
        return {key: emptied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [emptied(item) for item in value]
    return None


def same(one, other):
    if isinstance(one, torch.Tensor):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and bool(
                (one.double() if one.dtype.itemsize == 1 else one)
                .eq(other.double() if one.dtype.itemsize == 1 else other)
                .all()
            )
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    return one == other


def there_and_back(state, path, **options):
    dcp.save(state, storage_writer=SheafWriter(path, **options))
    found = emptied(state)
    dcp.load(found, storage_reader=SheafReader(path))
    return found


def rewrite_index(path, change):
    """Replaces the index of a checkpoint; the checkpoint stays a valid multifile."""
    with sheaf.open(path) as file:
        streams = [stream.read() for stream in file]
    said = json.loads(streams[0])
    change(said)
    streams[0] = json.dumps(said).encode()
    with sheaf.open(path, "w", tasks=len(streams)) as file:
        for stream, data in zip(file, streams):
            stream.write(data)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "step.sion")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_comes_back(path, dtype):
    state = {"t": value_of(dtype)}
    assert same(state, there_and_back(state, path))


def test_shapes_strides_and_objects_come_back(path):
    state = {
        "scalar": torch.tensor(4.5),
        "empty": torch.empty(0, 3),
        "transposed": value_of(torch.float32).t(),
        "slice": value_of(torch.float32)[1:3, 2:5],
        "conjugate": value_of(torch.complex64).conj(),
        "nested": {"list": [1, {"inner": torch.ones(5)}, "text"], "none": None},
        "step": 17,
        "grad": torch.ones(2, requires_grad=True),
    }
    assert same(state, there_and_back(state, path))


def test_a_sparse_tensor_is_stored_as_pytorch_does_it(path):
    sparse = torch.eye(5).to_sparse()
    dcp.save({"s": sparse}, storage_writer=SheafWriter(path))
    found = {"s": torch.zeros(5, 5).to_sparse()}
    dcp.load(found, storage_reader=SheafReader(path))
    assert torch.equal(found["s"].to_dense(), torch.eye(5))


def test_a_checkpoint_is_one_sound_multifile_with_raw_bytes_and_a_json_index(path):
    weights = torch.rand(100, 100)
    dcp.save({"w": weights, "n": 3}, storage_writer=SheafWriter(path))
    assert os.listdir(os.path.dirname(path)) == ["step.sion"]
    assert sheaf.verify(path).ok
    with sheaf.open(path) as file:
        assert file.info.checksums and file.info.closed and len(file) == 2
        index = json.loads(file[0].read())
        (chunk,) = index["tensors"]["w"]["chunks"]
        raw = file[chunk["task"]].array("f4", (100, 100), offset=chunk["at"])
        assert (torch.tensor(raw) == weights).all()
        assert index["objects"]["n"]["encoding"] == "torch.save" and "pickle" not in str(
            index["planner"]
        )


def test_many_small_tensors_lie_close_together(path):
    state = {f"t{i}": torch.full((3,), float(i)) for i in range(2000)}
    assert same(state, there_and_back(state, path))
    with sheaf.open(path) as file:
        assert file.tasks[1].bytes <= 2000 * 64 and file.tasks[1].chunks == 1


def test_compressed_and_without_checksums(path):
    state = {"w": torch.zeros(300, 300), "v": torch.rand(50)}
    assert same(state, there_and_back(state, path, compress="zstd"))
    assert os.stat(path).st_blocks * 512 < 100_000
    assert same(state, there_and_back(state, path, checksums=False, durable=False))


def test_the_name_of_a_save_may_come_with_it(path):
    writer = SheafWriter("nowhere.sion")
    for step in range(3):
        dcp.save(
            {"step": torch.tensor(step)}, checkpoint_id=f"{path}.{step}", storage_writer=writer
        )
    found = {"step": torch.tensor(-1)}
    dcp.load(found, checkpoint_id=f"{path}.1", storage_reader=SheafReader("nowhere.sion"))
    assert found["step"] == 1


def test_loading_into_another_dtype_converts(path):
    dcp.save({"w": torch.arange(10.0)}, storage_writer=SheafWriter(path))
    found = {"w": torch.zeros(10, dtype=torch.bfloat16)}
    dcp.load(found, storage_reader=SheafReader(path))
    assert torch.equal(found["w"], torch.arange(10.0).bfloat16())


def test_a_model_and_its_optimizer(path):
    def made():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3))
        return model, torch.optim.Adam(model.parameters())

    def step(model, optimizer):
        optimizer.zero_grad()
        model(torch.ones(2, 5)).square().sum().backward()
        optimizer.step()

    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    model, optimizer = made()
    step(model, optimizer)
    weights, state = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": state}, storage_writer=SheafWriter(path))
    step(model, optimizer)
    other, its_optimizer = made()
    step(other, its_optimizer)
    weights, state = get_state_dict(other, its_optimizer)
    found = {"model": weights, "optimizer": state}
    dcp.load(found, storage_reader=SheafReader(path))
    set_state_dict(
        other, its_optimizer, model_state_dict=found["model"], optim_state_dict=found["optimizer"]
    )
    step(other, its_optimizer)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters()))


def test_overwrite_and_places_where_no_checkpoint_can_be(path, tmp_path):
    dcp.save({"a": torch.ones(1)}, storage_writer=SheafWriter(path))
    with pytest.raises(dcp.api.CheckpointException, match="exists already, and overwrite is False"):
        dcp.save({"a": torch.zeros(1)}, storage_writer=SheafWriter(path, overwrite=False))
    with pytest.raises(dcp.api.CheckpointException, match="is a directory"):
        dcp.save({"a": torch.zeros(1)}, storage_writer=SheafWriter(str(tmp_path)))
    assert SheafWriter.validate_checkpoint_id(path) and SheafReader.validate_checkpoint_id(
        tmp_path / "new" / "x.sion"
    )
    assert not SheafWriter.validate_checkpoint_id(
        tmp_path
    ) and not SheafWriter.validate_checkpoint_id("s3://bucket/x")


def test_what_is_no_checkpoint_is_refused(path, tmp_path):
    with pytest.raises(NotFoundError):
        SheafReader(str(tmp_path / "missing.sion")).read_metadata()
    with sheaf.open(path, "w", tasks=2) as file:
        file[0].write(b"\x00\x01")
    with pytest.raises(UnsupportedError, match="is no JSON"):
        SheafReader(path).read_metadata()
    with sheaf.open(path, "w", tasks=2) as file:
        file[1].write(b"data")
    with pytest.raises(UnsupportedError, match="has no index"):
        SheafReader(path).read_metadata()
    with sheaf.open(path, "w", tasks=2) as file:
        file[0].write(b'{"format": "other"}')
    with pytest.raises(UnsupportedError, match="does not say"):
        SheafReader(path).read_metadata()


@pytest.mark.parametrize(
    "change,problem",
    [
        (lambda said: said.update(version=9), "of version 9"),
        (lambda said: said.pop("planner"), "KeyError"),
        (
            lambda said: said["tensors"]["w"]["chunks"][0].update(at=1 << 40),
            "is said to be in bytes",
        ),
        (lambda said: said["tensors"]["w"]["chunks"][0].update(task=7), "of task 7"),
        (lambda said: said["tensors"]["w"]["chunks"][0].update(task=0), "of task 0"),
        (lambda said: said.update(tensors=[]), "AttributeError"),
    ],
)
def test_a_wrong_index_is_told(path, change, problem):
    dcp.save({"w": torch.ones(10)}, storage_writer=SheafWriter(path))
    rewrite_index(path, change)
    with pytest.raises((DamagedError, UnsupportedError), match=problem):
        SheafReader(path).read_metadata()


def test_a_chunk_that_does_not_fit_its_dtype_is_told(path):
    dcp.save({"w": torch.ones(10)}, storage_writer=SheafWriter(path))
    rewrite_index(path, lambda said: said["tensors"]["w"]["chunks"][0].update(bytes=20))
    with pytest.raises(dcp.api.CheckpointException, match="which is not what"):
        dcp.load({"w": torch.zeros(10)}, storage_reader=SheafReader(path))


def test_a_flipped_bit_is_found_in_loading(path):
    dcp.save({"w": torch.rand(1000)}, storage_writer=SheafWriter(path))
    with sheaf.open(path) as file:
        where = file[1].chunks[0].offset + 1234
    with open(path, "r+b") as raw:
        raw.seek(where)
        byte = raw.read(1)[0]
        raw.seek(where)
        raw.write(bytes([byte ^ 8]))
    with pytest.raises(dcp.api.CheckpointException, match="checksum"):
        dcp.load({"w": torch.zeros(1000)}, storage_reader=SheafReader(path))


def test_a_save_that_fails_leaves_the_old_checkpoint_and_nothing_else(path):
    dcp.save({"a": torch.ones(3)}, storage_writer=SheafWriter(path))

    class Unpicklable:
        def __reduce__(self):
            raise RuntimeError("cannot be pickled")

    with pytest.raises(dcp.api.CheckpointException, match="cannot be pickled"):
        dcp.save({"a": torch.zeros(3), "b": Unpicklable()}, storage_writer=SheafWriter(path))
    assert os.listdir(os.path.dirname(path)) == ["step.sion"]
    found = {"a": torch.zeros(3)}
    dcp.load(found, storage_reader=SheafReader(path))
    assert found["a"].sum() == 3


def test_a_disk_that_is_full_in_finishing_leaves_the_old_checkpoint(path, monkeypatch):
    writer = SheafWriter(path)
    dcp.save({"a": torch.ones(3)}, storage_writer=writer)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(dcp.api.CheckpointException, match="No space left"):
            dcp.save({"a": torch.zeros(3)}, storage_writer=writer)
    assert os.listdir(os.path.dirname(path)) == ["step.sion"]
    for value in (5.0, 6.0):
        dcp.save({"a": torch.full((3,), value)}, storage_writer=writer)
        found = {"a": torch.zeros(3)}
        dcp.load(found, storage_reader=SheafReader(path))
        assert found["a"].tolist() == [value] * 3
