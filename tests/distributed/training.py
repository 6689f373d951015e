"""What the ranks of test_training.py do: ``mpiexec -n 4 python -m tests.distributed.training zero``."""

import builtins
import os
import signal

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed import checkpoint
from minigrad.distributed.optim import ZeroRedundancyOptimizer
from minigrad.distributed.pipelining import PipelineStage, ScheduleGPipe, ScheduleZBVZeroBubble
from minigrad.distributed.pipelining.schedules import SCHEDULES
from tests.distributed.models import MODELS, PARTS, curve_of_one, loss_of
from tests.distributed.programs import MEAN, alike, digits, main, network
from tests.distributed.test_pipeline import batch, parts

CROSS = mg.nn.CrossEntropyLoss()
DDP = mg.nn.parallel.DistributedDataParallel


def deep(seed=0):
    """A network whose parameters divide among 1, 2 and 4 ranks."""
    mg.manual_seed(seed)
    return mg.nn.Sequential(*[layer for _ in range(8) for layer in (mg.nn.Linear(6, 6), mg.nn.Tanh())]).double()


def state_bytes(optimizer):
    return sum([v.numel() * v.element_size() for state in optimizer.state.values() for v in state.values()
                if isinstance(v, mg.Tensor) and v.dim()])


def gathered(value):
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found


def zero():
    """ZeRO beside the plain optimizer: equal to the last bit, and each rank has its share of the state."""
    for make, options in ((mg.optim.AdamW, {"lr": 0.01}), (mg.optim.SGD, {"lr": 0.1, "momentum": 0.9})):
        models = [DDP(deep()), DDP(deep())]
        optimizers = [ZeroRedundancyOptimizer(models[0].parameters(), make, **options), make(models[1].parameters(), **options)]
        schedulers = [mg.optim.lr_scheduler.StepLR(optimizer, 2, 0.5) for optimizer in optimizers]
        for _ in range(4):
            equal_step(models, optimizers, schedulers)
        ours, plain = optimizers
        shares, whole = gathered(state_bytes(ours)), state_bytes(plain)
        assert shares == [whole // len(shares)] * len(shares) and sum(shares) == whole > 0, (shares, whole)
        consolidated(ours, plain)
        ours.load_state_dict(plain.state_dict())        # each rank keeps its part
        assert gathered(state_bytes(ours)) == shares
        equal_step(models, optimizers, schedulers)
        extra = [mg.nn.Parameter(mg.ones(5)) for _ in models]
        for parameter, optimizer in zip(extra, optimizers):
            optimizer.add_param_group({"params": [parameter], "lr": 1.0})
            parameter.grad = mg.ones(5)
            assert optimizer.step(lambda: 3) == 3
        assert mg.equal(*extra) and extra[0].tolist() != [1] * 5


def equal_step(models, optimizers, schedulers):
    _, _, mine_x, mine_y = digits()
    for model, optimizer, scheduler in zip(models, optimizers, schedulers):
        optimizer.zero_grad()
        CROSS(model(mine_x), mine_y).backward()
        optimizer.step()
        scheduler.step()
    assert all([mg.equal(p, q) for p, q in zip(models[0].parameters(), models[1].parameters())]), optimizers


def consolidated(ours, plain):
    """The last rank gets the state as the plain optimizer has it; the others are told that they have not."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    ours.consolidate_state_dict(to=last)
    if rank < last:
        try:
            ours.state_dict()
            raise AssertionError
        except RuntimeError as error:
            assert "has not been consolidated on this rank" in str(error) and f"to={rank}" in str(error)
        return
    found, expected = ours.state_dict(), plain.state_dict()
    assert found["param_groups"] == expected["param_groups"] and list(found["state"]) == list(expected["state"])
    for number, state in expected["state"].items():
        for name, value in state.items():
            assert mg.equal(mg.as_tensor(value), mg.as_tensor(found["state"][number][name])), (number, name)


def checkpoints(folder, before):
    """Three steps after those of the checkpoint, on any number of ranks: as if one rank had made all. With ZeRO and without."""
    before, (x, y, mine_x, mine_y) = int(before), digits()
    reference = network()
    plain = mg.optim.AdamW(reference.parameters(), lr=0.01)
    for _ in range(before + 3):
        plain.zero_grad()
        CROSS(reference(x), y).backward()
        plain.step()
    for kind in ("zero", "plain"):
        model = DDP(network(before))
        named = model.parameters()
        optimizer = ZeroRedundancyOptimizer(named, mg.optim.AdamW, lr=0.5) if kind == "zero" else mg.optim.AdamW(named, lr=0.5)
        state = {"model": model.module, "optimizer": optimizer, "step": 0}
        if before:
            # What ZeRO has written, the plain optimizer reads, and the other way round.
            checkpoint.load(state, checkpoint_id=os.path.join(folder, "plain" if kind == "zero" else "zero", str(before)))
        else:
            optimizer.param_groups[0]["lr"] = 0.01
        assert state["step"] == before and optimizer.param_groups[0]["lr"] == 0.01
        for _ in range(3):
            optimizer.zero_grad()
            CROSS(model(mine_x), mine_y).backward()
            optimizer.step()
        for p, q in zip(model.parameters(), reference.parameters()):
            assert mg.allclose(p, q, rtol=0, atol=1e-12), (kind, before)
        state["step"] += 3
        checkpoint.save(state, checkpoint_id=os.path.join(folder, kind, str(before + 3)))


def killed_while_saving(folder):
    """Rank 0 is killed when half of the second checkpoint is on the disk."""
    checkpoint.save({"w": mg.ones(10_000)}, checkpoint_id=folder)
    whole = builtins.open

    class Half:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

        def write(self, data):
            self.file.write(data[:len(data) // 2])
            self.file.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    if dist.get_rank() == 0:
        builtins.open = lambda name, mode="r", *more, **options: (Half if mode == "wb" else lambda f: f)(
            whole(name, mode, *more, **options))
    checkpoint.save({"w": mg.zeros(10_000)}, checkpoint_id=folder)


def cannot_save(folder):
    """What the ranks save differs, or the folder cannot be made: all of them get an error, and go on."""
    rank = dist.get_rank()
    try:
        checkpoint.save({"model": mg.nn.Linear(2, 1 + rank)}, checkpoint_id=folder)
        raise AssertionError
    except RuntimeError as error:
        assert "rank 1 has other values than rank 0" in str(error) and "model.weight float32 (2, 2)" in str(error), error
    checkpoint.save({"model": mg.nn.Linear(2, 1 + rank)}, checkpoint_id=os.path.join(folder, str(rank)), no_dist=True)
    with open(os.path.join(folder, f"file{rank}"), "w"):
        pass
    try:
        checkpoint.save({"w": mg.ones(2)}, checkpoint_id=os.path.join(folder, "file0", "step3"))
        raise AssertionError
    except OSError:
        assert rank == 0
    except dist.DistError as error:
        assert rank > 0 and "rank 0 could not write" in str(error) and "NotADirectoryError" in str(error)


def clipping():
    """The norm over all ranks: with DDP each rank has all gradients; the stages of a pipeline add theirs."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x, y, mine_x, mine_y = digits()
    model, reference = DDP(network()), network()
    CROSS(model(mine_x), mine_y).backward()
    CROSS(reference(x), y).backward()
    norms = [mg.nn.utils.clip_grad_norm_(m.parameters(), 0.01) for m in (model, reference)]
    assert abs(norms[0] - norms[1]) < 1e-12 and norms[1] > 0.01
    alike(model, reference)

    (x, y), stages, reference = batch(), parts(size), mg.nn.Sequential(*parts(size))
    schedule = ScheduleGPipe(PipelineStage(stages[rank], rank, size), 4, loss_fn=MEAN)
    mine = list(stages[rank].parameters())
    for order in (2.0, 3.0, float("inf")):
        for module in (stages[rank], reference):
            module.zero_grad()
        schedule.step(*[x] * (rank == 0), target=y)
        MEAN(reference(x), y).backward()
        expected = mg.nn.utils.clip_grad_norm_(reference.parameters(), 0.01, order)
        total = mg.nn.utils.get_total_norm([p.grad for p in mine], order)
        if order == float("inf"):
            dist.all_reduce(total, dist.ReduceOp.MAX)
        else:
            total = total ** order
            dist.all_reduce(total)
            total = total ** (1 / order)
        mg.nn.utils.clip_grads_with_norm_(mine, 0.01, total)
        assert abs(total - expected) < 1e-12
        alike(stages[rank], reference[rank])


def curves(model):
    """The loss curve of every schedule, of DDP, and of DDP with ZeRO is that of one process."""
    (make, load), rank, size = MODELS[model], dist.get_rank(), dist.get_world_size()

    def optimizer(parameters):
        return mg.optim.AdamW(parameters, lr=0.01)
    shared = [None, None]
    if rank == 0:
        shared = [load(), None]
        shared[1] = curve_of_one(make(), shared[0], optimizer)
    dist.broadcast_object_list(shared, src=0)
    batches, expected = shared
    for name, cls in SCHEDULES.items():
        local = 1 if name in ("GPipe", "1F1B") else 2
        mine = sorted({rank, PARTS - 1 - rank}) if cls is ScheduleZBVZeroBubble else list(range(rank, size * local, size))
        found = curve_of_pipeline(make(), batches, cls, mine, size * local, optimizer)
        assert (found is not None) == (size * local - 1 in mine), name
        equal_curves(name, found or expected, expected)
    losses, net = [], DDP(mg.nn.Sequential(*make()))
    steps = ZeroRedundancyOptimizer(net.parameters(), mg.optim.AdamW, lr=0.01)
    for x, y in batches:
        steps.zero_grad()
        share = slice(rank * len(x) // size, (rank + 1) * len(x) // size)
        loss = loss_of(net(x[share]), y[share])
        loss.backward()
        steps.step()
        mean = loss.detach()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        losses.append(mean.item())
    equal_curves("DDP", losses, expected)


def curve_of_pipeline(parts, batches, cls, mine, count, optimizer):
    """The loss of each step on the rank of the last stage, None elsewhere. The parts make `count` stages."""
    width = len(parts) // count
    stages = [mg.nn.Sequential(*parts[i * width:(i + 1) * width]) for i in mine]
    made = [PipelineStage(stage, i, count) for stage, i in zip(stages, mine)]
    schedule = cls(made if len(made) > 1 else made[0], 4, loss_fn=loss_of)
    steps, losses = optimizer([p for stage in stages for p in stage.parameters()]), []
    for x, y in batches:
        steps.zero_grad()
        one = [] if schedule.holds_last else None
        schedule.step(*[x] * schedule.holds_first, target=y if schedule.holds_last else None, losses=one)
        steps.step()
        if one:
            losses.append(sum([loss.item() for loss in one]) / len(one))
    return losses or None


def equal_curves(name, found, expected):
    assert max([abs(f - e) for f, e in zip(found, expected, strict=True)]) < 1e-9, (name, found, expected)


if __name__ == "__main__":
    main(globals())
