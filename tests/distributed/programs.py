"""What the ranks of test_ranks.py do: ``mpiexec -n 4 python -m tests.distributed.programs collectives``."""

import copy
import datetime
import os
import signal
import sys
import time

import minigrad as mg
import minigrad.distributed as dist
from benchmarks import pipelines as pipelines_benchmark
from minigrad.distributed.pipelining import PipelineStage, ScheduleZBVZeroBubble
from minigrad.distributed.pipelining._actions import B, F, I, W, _Action
from minigrad.distributed.pipelining.schedules import SCHEDULES
from tests.distributed.test_pipeline import batch, parts

MEAN = mg.nn.MSELoss()


def ones(value, *shape, **more):
    return mg.full(shape or (2,), float(value), **more)


def collectives():
    """Each collective, on values that tell the rank."""
    rank, size = dist.get_rank(), dist.get_world_size()
    total, last = sum(range(size)), size - 1
    assert mg.get_num_threads() == int(os.environ.get("OMP_NUM_THREADS", 1))
    x = ones(rank, 3)
    dist.all_reduce(x)
    assert x.tolist() == [total] * 3 and x._version == 1
    for op, value in (("MAX", last), ("MIN", 0), ("PRODUCT", 0), ("AVG", total / size)):
        x = ones(rank, 1)
        dist.all_reduce(x, getattr(dist.ReduceOp, op))
        assert x.item() == value, op
    for dtype in (mg.float16, mg.bfloat16, mg.float64, mg.int64, mg.uint8, mg.complex64):
        x = mg.full((2,), rank, dtype=dtype)
        dist.all_reduce(x)
        assert x.dtype == dtype and (x == total).all(), dtype
    flag = mg.tensor([rank == 0, False])
    dist.all_reduce(flag, dist.ReduceOp.BOR)
    assert flag.tolist() == [True, False]
    x = ones(rank)
    dist.reduce(x, dst=last)
    assert x.tolist() == [total if rank == last else rank] * 2
    w = mg.nn.Parameter(ones(rank, 2, 2))
    dist.broadcast(w, src=1)
    assert (w == 1).all() and w.requires_grad
    parts = [mg.empty(2) for _ in range(size)]
    dist.all_gather(parts, ones(rank))
    assert [p.tolist() for p in parts] == [[k] * 2 for k in range(size)]
    whole = mg.empty(2 * size)
    dist.all_gather_into_tensor(whole, ones(rank))
    assert whole.tolist() == mg.cat(parts).tolist()
    got = mg.empty(2)
    dist.scatter(got, parts if rank == 0 else None)
    assert got.tolist() == [rank] * 2
    gathered = [mg.empty(2) for _ in range(size)] if rank == last else None
    dist.gather(got, gathered, dst=last)
    assert gathered is None or [p.tolist() for p in gathered] == [p.tolist() for p in parts]
    dist.reduce_scatter(got, [ones(rank + k) for k in range(size)])
    assert got.tolist() == [total + size * rank] * 2
    dist.reduce_scatter_tensor(got, mg.cat([ones(rank + k) for k in range(size)]), dist.ReduceOp.AVG)
    assert got.tolist() == [total / size + rank] * 2
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "text": "x" * rank})
    assert [f["rank"] for f in found] == list(range(size)) and len(found[last]["text"]) == last
    objects = ["a", mg.ones(2)] if rank == 1 else [None, None]
    dist.broadcast_object_list(objects, src=1)
    assert objects[0] == "a" and objects[1].tolist() == [1, 1]
    x = ones(1, 1000)
    work = dist.all_reduce(x, async_op=True)
    assert work.wait() and work.is_completed() and (x == size).all()
    dist.barrier()


def messages():
    """Messages around a ring, large ones too; from any rank; with tags; groups."""
    rank, size = dist.get_rank(), dist.get_world_size()
    got = mg.empty(500, 500)
    around = [dist.P2POp(dist.irecv, got, (rank - 1) % size), dist.P2POp(dist.isend, ones(rank, 500, 500), (rank + 1) % size)]
    for work in dist.batch_isend_irecv(around):
        work.wait()
    assert (got == (rank - 1) % size).all() and got._version == 1
    if rank == 0:
        x, y = mg.empty(2), mg.empty(2)
        assert dist.recv(x) == 1 and x.tolist() == [1, 1]
        dist.recv(y, 1, tag=7)
        dist.recv(x, 1, tag=5)
        assert x.tolist() == [5, 5] and y.tolist() == [7, 7]
    elif rank == 1:
        dist.send(ones(1), 0)
        works = [dist.isend(ones(5), 0, tag=5), dist.isend(ones(7), 0, tag=7)]
        assert all(work.wait() for work in works)
    some = dist.new_group([size - 1, 0])
    x = ones(rank)
    dist.all_reduce(x, group=some)
    assert dist.get_rank(some) == {0: 0, size - 1: 1}.get(rank, -1)
    assert x.tolist() == [size - 1 if rank in (0, size - 1) else rank] * 2
    if rank in (0, size - 1):
        assert dist.get_process_group_ranks(some) == [0, size - 1] and dist.get_world_size(some) == 2
        assert dist.get_global_rank(some, 1) == size - 1 and dist.get_group_rank(some, size - 1) == 1
        dist.broadcast(x, group=some, group_src=1)
    dist.destroy_process_group(some)
    dist.barrier()


def pipelines():
    """Every schedule, three steps with an optimizer: gradients and losses are those of the model in one process."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for name, cls in SCHEDULES.items():
        local = 1 if name in ("GPipe", "1F1B") else 2
        count = size * local
        mine = sorted({rank, count - 1 - rank}) if cls is ScheduleZBVZeroBubble else list(range(rank, count, size))
        (x, y), ours, reference = batch(), parts(count), mg.nn.Sequential(*parts(count))
        made = [PipelineStage(ours[i], i, count) for i in mine]
        schedule = cls(made if local > 1 else made[0], 4, loss_fn=MEAN)
        optimizers = [mg.optim.SGD([p for i in mine for p in ours[i].parameters()], lr=0.1),
                      mg.optim.SGD(reference.parameters(), lr=0.1)]
        inputs, losses = [x] * (0 in mine), []
        for _ in range(3):
            for optimizer in optimizers:
                optimizer.zero_grad()
            out = schedule.step(*inputs, target=y if schedule.holds_last else None, losses=losses if schedule.holds_last else None)
            loss = MEAN(reference(x), y)
            loss.backward()
            for i in mine:
                for p, q in zip(ours[i].parameters(), reference[i].parameters()):
                    assert mg.allclose(p.grad, q.grad, rtol=0, atol=1e-12), (name, i)
            assert not losses or abs(sum([one.item() for one in losses]) / 4 - loss.item()) < 1e-12, name
            assert (out is not None) == schedule.holds_last
            for optimizer in optimizers:
                optimizer.step()
        for _ in range(3):
            schedule.eval(*inputs)          # without a backward the first rank runs ahead
        dist.barrier()


def tied_over_ranks():
    """One weight at both ends: two parameters, whose gradients are added after each step. They stay equal."""
    rank, size = dist.get_rank(), dist.get_world_size()
    (x, y), whole = batch(), parts(size)
    whole[-1][2].weight = whole[0][2].weight
    ours, reference = copy.deepcopy(whole), mg.nn.Sequential(*whole)
    schedule = SCHEDULES["1F1B"](PipelineStage(ours[rank], rank, size), 4, loss_fn=MEAN)
    ends = dist.new_group([0, size - 1])
    optimizers = [mg.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (ours[rank], reference)]
    for _ in range(3):
        for optimizer in optimizers:
            optimizer.zero_grad()
        schedule.step(*[x] * (rank == 0), target=y if rank == size - 1 else None)
        if rank in (0, size - 1):
            dist.all_reduce(ours[rank][2].weight.grad, group=ends)
        MEAN(reference(x), y).backward()
        for optimizer in optimizers:
            optimizer.step()
        for p, q in zip(ours[rank].parameters(), reference[rank].parameters()):
            assert mg.allclose(p, q, rtol=0, atol=1e-12)


def recorded():
    """What each rank has recorded of a step, with other ranks: nothing starts before what it needs has ended. Linux has one clock."""
    size = dist.get_world_size()
    for name in SCHEDULES:
        timelines = pipelines_benchmark.measure(name, 4, 0.002, 1)
        found = pipelines_benchmark.planned(name, size, 4, 0.002)
        assert [[text for text, _, _ in row] for row in timelines] == [
            [str(each.action) for each in row] for row in found.timeline.values()], name
        times = {text: (start, end) for row in timelines for text, start, end in row}
        for text, (start, end) in times.items():
            stage, kind, m = _Action.from_str(text)
            before = _Action(stage - 1, F, m) if kind is F else _Action(stage + 1, B, m)
            made = next((times[str(a)] for a in (before, before._replace(computation_type=I)) if kind is not W and str(a) in times), None)
            # a result is on its way a little before its action has ended
            assert start <= end and (made is None or made[0] <= start), (name, text)


# ---- data parallelism ----


def digits(rows=32):
    """A batch, the same on all ranks, and this rank's part of it."""
    mg.manual_seed(3)
    x, y = mg.randn(rows, 6, dtype=mg.float64), mg.randint(0, 3, (rows,))
    mine = slice(dist.get_rank() * rows // dist.get_world_size(), (dist.get_rank() + 1) * rows // dist.get_world_size())
    return x, y, x[mine], y[mine]


def network(seed=0):
    mg.manual_seed(seed)
    return mg.nn.Sequential(mg.nn.Linear(6, 8), mg.nn.Tanh(), mg.nn.Linear(8, 8), mg.nn.Tanh(), mg.nn.Linear(8, 3)).double()


def alike(model, reference, limit=1e-12):
    for (name, p), q in zip(model.named_parameters(), reference.parameters()):
        assert (p.grad - q.grad).abs().max() <= limit * max(1, q.grad.abs().max()), (name, p.grad, q.grad)


def data_parallel():
    """The loss curve is that of the whole batch on one rank, with small buckets and large ones, copied and as views."""
    loss_fn = mg.nn.CrossEntropyLoss()
    x, y, mine_x, mine_y = digits()
    rows = list(mg.utils.data.DistributedSampler(range(32), shuffle=False))
    assert rows == list(range(dist.get_rank(), 32, dist.get_world_size()))
    for cap, as_views in ((25, False), (0.0002, False), (0.0002, True)):
        # Every rank begins with another model, and gets that of rank 0.
        model = mg.nn.parallel.DistributedDataParallel(network(dist.get_rank()), bucket_cap_mb=cap, gradient_as_bucket_view=as_views)
        assert (len(model.reducer.buckets) == 1) == (cap == 25)
        reference = network(0)
        optimizers = [mg.optim.AdamW(m.parameters(), lr=0.01) for m in (model, reference)]
        for _ in range(5):
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss = loss_fn(model(mine_x), mine_y)
            loss.backward()
            whole = loss_fn(reference(x), y)
            whole.backward()
            alike(model, reference)
            for optimizer in optimizers:
                optimizer.step()
            mean = loss.detach()
            dist.all_reduce(mean, dist.ReduceOp.AVG)
            assert abs(mean.item() - whole.item()) < 1e-9
        model.zero_grad()
        reference.zero_grad()
        with model.no_sync():
            loss_fn(model(mine_x), mine_y).backward()
        loss_fn(model(mine_x), mine_y).backward()           # shares the sum of both
        (2 * loss_fn(reference(x), y)).backward()
        alike(model, reference)
        with mg.no_grad():
            model(mine_x)


class Branches(mg.nn.Module):
    """Each rank uses one of the branches; nobody uses the last."""

    def __init__(self):
        super().__init__()
        mg.manual_seed(0)
        self.branches = mg.nn.ModuleList([mg.nn.Linear(6, 2) for _ in range(dist.get_world_size() + 1)])
        self.norm = mg.nn.BatchNorm1d(2)

    def forward(self, x, which):
        return self.norm(self.branches[which](x))


def unused_parameters():
    """A parameter that one rank has used gets the mean everywhere; one that none has used keeps its gradient. Buffers are rank 0's."""
    rank, size = dist.get_rank(), dist.get_world_size()
    mg.manual_seed(rank)
    x = mg.randn(5, 6)
    for options in ({"find_unused_parameters": True}, {"static_graph": True}):
        model = mg.nn.parallel.DistributedDataParallel(Branches(), **options)
        for _ in range(3):
            model.zero_grad()
            model(x, rank).pow(3).sum().backward()
        branches = model.module.branches
        assert branches[size].weight.grad is None
        found = [None] * size
        dist.all_gather_object(found, [b.weight.grad.tolist() for b in branches[:size]])
        assert all([one == found[0] for one in found]) and branches[rank].weight.grad.abs().max() > 0
        model(x, rank).sum().backward()
        mean = model.module.norm.running_mean.clone()
        with mg.no_grad():
            model(x, rank)      # gives the buffers of rank 0 before it computes
        dist.all_gather_object(found, model.module.norm.num_batches_tracked.item())
        assert len(set(found)) == 1 and mean.shape == (2,)


def hooks():
    """Half floats are near, the top numbers arrive with what was left over; a wrong hook is refused."""
    from minigrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    loss_fn = mg.nn.CrossEntropyLoss()
    x, y, mine_x, mine_y = digits()
    reference = network()
    loss_fn(reference(x), y).backward()
    model = mg.nn.parallel.DistributedDataParallel(network())
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    loss_fn(model(mine_x), mine_y).backward()
    alike(model, reference, 2e-3)
    model = mg.nn.parallel.DistributedDataParallel(network())
    model.register_comm_hook(default_hooks.TopK(1.0), default_hooks.top_k_hook)
    loss_fn(model(mine_x), mine_y).backward()
    alike(model, reference)
    model = mg.nn.parallel.DistributedDataParallel(network())
    model.register_comm_hook(default_hooks.TopK(0.1), default_hooks.top_k_hook)
    losses = [loss_fn(reference(x), y).item()]
    for trained, mine in ((reference, (x, y)), (model, (mine_x, mine_y))):
        optimizer = mg.optim.SGD(trained.parameters(), lr=0.3)
        for _ in range(40):
            optimizer.zero_grad()
            loss_fn(trained(mine[0]), mine[1]).backward()
            optimizer.step()
        with mg.no_grad():
            losses.append(loss_fn(trained.module(x) if trained is model else trained(x), y).item())
    first, dense, sparse = losses
    assert sparse < first - 0.6 * (first - dense), losses


def other_models():
    mg.nn.parallel.DistributedDataParallel(mg.nn.Linear(3, 1 + (dist.get_rank() == 1)))


def one_uses_less():
    """Without find_unused_parameters the others wait for a gradient that does not come."""
    model = mg.nn.parallel.DistributedDataParallel(Branches(), broadcast_buffers=False)
    x = mg.randn(5, 6)
    model(x, 0).sum().backward()
    model(x, 0)


# ---- mistakes and accidents: each ends all ranks ----


def other_shapes():
    dist.all_reduce(mg.ones(3 + (dist.get_rank() == 1)))


def other_collective():
    (dist.all_reduce if dist.get_rank() else dist.broadcast)(mg.ones(3))


def one_does_not_come():
    if dist.get_rank() != 1:
        dist.all_reduce(mg.ones(3))
    time.sleep(60)


def other_message():
    if dist.get_rank() == 0:
        dist.send(mg.ones(4), 1)
    elif dist.get_rank() == 1:
        dist.recv(mg.empty(3), 0)
    dist.barrier()


def one_raises():
    if dist.get_rank() == 1:
        raise ValueError("my mistake")
    dist.barrier()


def one_is_killed():
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


def interrupted():
    print("ready", flush=True)
    time.sleep(60)


def a_stage_hangs():
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank == 1:
        time.sleep(60)
    x, y = batch()
    schedule = SCHEDULES["1F1B"](PipelineStage(parts(size)[rank], rank, size), 4, loss_fn=MEAN)
    schedule.step(*[x] * (rank == 0), target=y)


def main(programs):
    """Run the program that the command line names, with its limit of seconds for waiting."""
    dist.init_process_group(timeout=datetime.timedelta(seconds=float(sys.argv[2]) if len(sys.argv) > 2 else 60))
    programs[sys.argv[1]](*sys.argv[3:])
    dist.destroy_process_group()
    print("all right", flush=True)


if __name__ == "__main__":
    main(globals())
