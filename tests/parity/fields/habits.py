"""What authors do in their own way: schedules from the old base class, optimizers of their own, copies of layers, shared gradients."""

import copy
import math
from collections import defaultdict


def _task(torch, seed):
    """A small regression: a network, inputs, targets."""
    torch.manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
    return net, torch.randn(8, 3), torch.randn(8, 1)


def warmup(torch):
    """A schedule derived from _LRScheduler, and an optimizer with `lr=required`, after the annotated transformer."""
    from importlib import import_module
    nn, name = torch.nn, torch.optim.__name__
    base = import_module(name + ".lr_scheduler")._LRScheduler
    required = import_module(name + ".optimizer").required

    class WarmupLR(base):
        def __init__(self, optimizer, warmup_steps, last_epoch=-1):
            self.warmup_steps = warmup_steps
            super().__init__(optimizer, last_epoch)

        def get_lr(self):
            step = self.last_epoch + 1
            return [lr * min(step ** -0.5, step * self.warmup_steps ** -1.5) for lr in self.base_lrs]

    class Momentum(torch.optim.Optimizer):
        def __init__(self, params, lr=required, momentum=0):
            if lr is not required and lr < 0.0:
                raise ValueError(f"Invalid learning rate: {lr}")
            super().__init__(params, dict(lr=lr, momentum=momentum))

        def __setstate__(self, state):
            super().__setstate__(state)

        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    buf = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p.data))
                    buf.mul_(group["momentum"]).add_(p.grad.data)
                    p.data.add_(buf, alpha=-group["lr"])
    net, x, y = _task(torch, 0)
    optimizer = Momentum(net.parameters(), lr=1.0, momentum=0.5)
    schedule = WarmupLR(optimizer, 4)
    out = []
    for _ in range(6):
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        out += [loss.item(), optimizer.param_groups[0]["lr"]]
    return out


def sharpness_aware(torch):
    """SAM around SGD: it shares the base optimizer's groups, climbs, and steps from the old place."""
    class SAM(torch.optim.Optimizer):
        def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
            super().__init__(params, dict(rho=rho, **kwargs))
            self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
            self.param_groups = self.base_optimizer.param_groups
            self.defaults.update(self.base_optimizer.defaults)

        @torch.no_grad()
        def first_step(self):
            norm = torch.norm(torch.stack([p.grad.norm(p=2) for g in self.param_groups for p in g["params"]]), p=2)
            for group in self.param_groups:
                scale = group["rho"] / (norm + 1e-12)
                for p in group["params"]:
                    self.state[p]["old_p"] = p.data.clone()
                    p.add_(p.grad * scale.to(p))
            self.zero_grad()

        @torch.no_grad()
        def second_step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.data = self.state[p]["old_p"]
            self.base_optimizer.step()
            self.zero_grad()
    net, x, y = _task(torch, 1)
    optimizer, losses = SAM(net.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9), []
    for _ in range(4):
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.first_step()
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.second_step()
        losses.append(loss.item())
    return losses


def shared_gradients(torch):
    """A3C: a global network, workers that copy it and assign their gradients to `_grad`, states made in advance."""
    import warnings
    net, x, y = _task(torch, 2)

    class SharedRMS(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-2):
            super().__init__(params, dict(lr=lr))
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["square"] = p.data.new().resize_as_(p.data).zero_()

        def share_memory(self):
            for state in self.state.values():
                state["square"].share_memory_()

        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    square = self.state[p]["square"]
                    square.mul_(0.9).addcmul_(p.grad.data, p.grad.data, value=0.1)
                    p.data.addcdiv_(p.grad.data, square.sqrt().add_(1e-8), value=-group["lr"])
    worker = copy.deepcopy(net)
    optimizer = SharedRMS(net.parameters())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.share_memory()
        optimizer.share_memory()
    losses = []
    for _ in range(3):
        worker.load_state_dict(net.state_dict())
        worker.zero_grad()
        loss = torch.nn.functional.mse_loss(worker(x), y)
        loss.backward()
        for p, shared in zip(worker.parameters(), net.parameters()):
            shared._grad = p.grad
        optimizer.step()
        losses.append(loss.item())
    return losses


def channels_last(torch):
    """A small U-Net in channels_last, RMSprop with foreach, autocast and a scaler that are off, a dice loss."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(3)

    def double(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))
    inner, outer, out = double(1, 4), nn.Sequential(nn.MaxPool2d(2), double(4, 4)), nn.Conv2d(8, 2, 1)
    net = nn.ModuleList([inner, outer, out]).to(memory_format=torch.channels_last)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9, foreach=True)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    x = torch.randn(2, 1, 9, 9).to("cpu", torch.float32, memory_format=torch.channels_last)
    y = torch.randint(0, 2, (2, 9, 9))
    losses = []
    for _ in range(3):
        with torch.autocast("cpu", enabled=False):
            a = inner(x)
            b = F.interpolate(outer(a), scale_factor=2, mode="bilinear", align_corners=True)
            p = out(torch.cat([a, F.pad(b, [0, a.size(3) - b.size(3), 0, a.size(2) - b.size(2)])], dim=1))
            q, t = F.softmax(p, dim=1).float(), F.one_hot(y, 2).permute(0, 3, 1, 2).float()
            loss = F.cross_entropy(p, y) + 1 - ((2 * (q * t).sum((-1, -2)) + 1e-6) / (q.sum((-1, -2)) + t.sum((-1, -2)) + 1e-6)).mean()
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return [losses, outer[1][0].weight.stride(), x.is_contiguous(memory_format=torch.channels_last)]


def lookahead(torch):
    """Slow weights around a fast optimizer that is no subclass call, with counters in the groups."""
    class Lookahead(torch.optim.Optimizer):
        def __init__(self, optimizer, k=2, alpha=0.5):
            self.optimizer, self.k, self.alpha = optimizer, k, alpha
            self.param_groups = self.optimizer.param_groups
            self.state = defaultdict(dict)
            for group in self.param_groups:
                group["counter"] = 0

        def step(self, closure=None):
            loss = self.optimizer.step(closure)
            for group in self.param_groups:
                if group["counter"] == 0:
                    for fast in group["params"]:
                        slow = self.state[fast].setdefault("slow", fast.data.clone())
                        slow += (fast.data - slow) * self.alpha
                        fast.data.copy_(slow)
                group["counter"] = (group["counter"] + 1) % self.k
            return loss
    net, x, y = _task(torch, 4)
    optimizer, losses = Lookahead(torch.optim.Adam(net.parameters(), 1e-2)), []
    for _ in range(5):
        loss = torch.nn.functional.mse_loss(net(x), y)
        optimizer.optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def rounded_weights(torch):
    """Quantization by hand: fake_quantize in a layer, and a straight-through round of one's own."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(5)

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.round(x)

        @staticmethod
        def backward(ctx, grad):
            return grad

    class Rounded(nn.Linear):
        def forward(self, x):
            scale = self.weight.detach().abs().amax(1) / 7
            weight = torch.fake_quantize_per_channel_affine(self.weight, scale, torch.zeros(len(scale), dtype=torch.int32), 0, -8, 7)
            step = 4 / 255
            x = torch.fake_quantize_per_tensor_affine(x, step, 128, 0, 255)
            return F.linear(x, weight, Round.apply(self.bias / step) * step)
    net = nn.Sequential(Rounded(3, 6), nn.ReLU(), Rounded(6, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    x = torch.randn(16, 3)
    losses = []
    for _ in range(4):
        loss = F.mse_loss(net(x), 2 * x[:, :1])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def conditions(torch):
    """torch.where with a condition alone, byte masks, finfo in a clamp and in a mask, a reduce in scatter_."""
    torch.manual_seed(6)
    gates = torch.softmax(torch.randn(6, 4), -1)
    weight, expert = torch.topk(gates, 2, dim=-1)
    experts = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(4)])
    x, y = torch.randn(6, 3), torch.zeros(6, 3)
    for i, layer in enumerate(experts):
        row, column = torch.where(expert == i)
        if row.numel():
            y.index_add_(0, row, layer(x[row]) * weight[row, column].unsqueeze(-1))
    eps, low = torch.finfo(x.dtype).eps, torch.finfo(torch.float32).min
    probability = gates.clamp(min=eps, max=1 - eps)
    mask = torch.full((3, 3), low).triu(1)
    counts = torch.zeros(4).scatter_(0, expert.flatten(), 1.0, reduce="add")
    return [y, probability.log().sum(), (mask + x[:3]).softmax(-1), counts, eps * x, math.log(eps)]


def estimates(torch):
    """gradient on a grid, principal components, an LU factor used twice, the log of a normal probability in the tail."""
    torch.manual_seed(7)
    grid = torch.linspace(0, 2, 9)
    u = torch.sin(grid)[:, None] * torch.cos(grid)[None, :]
    du, dv = torch.gradient(u, spacing=(grid, grid), edge_order=2)
    data = torch.randn(12, 5) * torch.tensor([5.0, 3.0, 1.0, 0.5, 0.1])
    _, S, V = torch.pca_lowrank(data, q=3)
    A, b = torch.randn(4, 4), torch.randn(4, 2)
    LU, pivots = torch.linalg.lu_factor(A)
    x = torch.linalg.lu_solve(LU, pivots, b)
    z = torch.tensor([-30.0, -2.0, 1.0], requires_grad=True)
    torch.special.log_ndtr(z).sum().backward()
    return [du, dv, S, (data @ V[:, :1]).abs(), x, z.grad]
