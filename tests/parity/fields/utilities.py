"""Programs in the manner of training scripts: the tools around a loop, from checkpoints to schedules and parametrizations."""


def _problem(torch, seed=0):
    torch.manual_seed(seed)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    return model, torch.randn(16, 4), torch.randint(0, 2, (16,))


def checkpoint_and_resume(torch):
    """state_dict of model, optimizer and scheduler through a BytesIO; the resumed run goes on as the first would have."""
    import io
    F = torch.nn.functional

    def build():
        model, x, y = _problem(torch)
        opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
        return model, opt, torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10), x, y

    def train(model, opt, sched, x, y, n):
        losses = []
        for _ in range(n):
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            losses.append(loss.item())
        return losses
    model, opt, sched, x, y = build()
    first, buffer = train(model, opt, sched, x, y, 3), io.BytesIO()
    torch.save({"epoch": 3, "model": model.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict()}, buffer)
    straight = train(model, opt, sched, x, y, 3)
    buffer.seek(0)
    checkpoint = torch.load(buffer, map_location="cpu", weights_only=True)
    model, opt, sched, x, y = build()
    model.load_state_dict(checkpoint["model"])
    opt.load_state_dict(checkpoint["opt"])
    sched.load_state_dict(checkpoint["sched"])
    return [first, straight, train(model, opt, sched, x, y, 3), checkpoint["epoch"], sched.get_last_lr()]


def schedules(torch):
    """The learning rates of a dozen schedulers over ten steps."""
    sched, out = torch.optim.lr_scheduler, []
    for make in (lambda o: sched.StepLR(o, 3, 0.5), lambda o: sched.MultiStepLR(o, milestones=[2, 5], gamma=0.1),
                 lambda o: sched.ExponentialLR(o, 0.9), lambda o: sched.CosineAnnealingLR(o, 10, eta_min=1e-3),
                 lambda o: sched.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2), lambda o: sched.LinearLR(o, 0.1, total_iters=4),
                 lambda o: sched.OneCycleLR(o, max_lr=0.5, total_steps=11),
                 lambda o: sched.PolynomialLR(o, total_iters=8, power=2.0), lambda o: sched.MultiplicativeLR(o, lambda e: 0.95),
                 lambda o: sched.ConstantLR(o, 0.5, 3),
                 lambda o: sched.SequentialLR(o, [sched.LinearLR(o, 0.1, total_iters=3), sched.ExponentialLR(o, 0.8)], milestones=[3])):
        p = torch.nn.Parameter(torch.ones(1))
        opt = torch.optim.SGD([{"params": [p], "lr": 0.2}], lr=0.1, momentum=0.9)
        s = make(opt)
        for _ in range(10):
            opt.step()
            s.step()
            out.append(opt.param_groups[0]["lr"])
    return out


def cyclic_schedules(torch):
    """CyclicLR: triangles that stay, shrink by half, and shrink each step; the momentum runs against the learning rate."""
    out = []
    for kwargs in (dict(mode="triangular"), dict(mode="triangular2"), dict(mode="exp_range", gamma=0.95)):
        opt = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
        s = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.01, max_lr=0.1, step_size_up=3, step_size_down=2, **kwargs)
        for _ in range(10):
            opt.step()
            s.step()
            out += [s.get_last_lr()[0], opt.param_groups[0]["momentum"]]
    return out


def plateau_and_early_stopping(torch):
    """ReduceLROnPlateau with a patience, the best weights kept by deepcopy."""
    import copy
    model, x, y = _problem(torch, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="min", factor=0.5, patience=1, threshold=1e-2)
    best, best_state, out = float("inf"), None, []
    for _ in range(10):
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x[:10]), y[:10])
        loss.backward()
        opt.step()
        with torch.no_grad():
            val = torch.nn.functional.cross_entropy(model(x[10:]), y[10:]).item()
        scheduler.step(val)
        if val < best:
            best, best_state = val, copy.deepcopy(model.state_dict())
        out += [val, opt.param_groups[0]["lr"]]
    model.load_state_dict(best_state)
    return [out, best, [v.sum() for v in model.state_dict().values()]]


def mixed_precision_disabled(torch):
    """autocast and GradScaler with enabled=False around accumulated gradients and clipping."""
    model, x, y = _problem(torch, 2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model, use_amp = model.to(device), torch.cuda.is_available()
    scaler = torch.cuda.amp.GradScaler(enabled=use_amp)
    opt, out = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4), []
    for step, (xb, yb) in enumerate(zip(x.to(device, non_blocking=True).split(4), y.to(device).split(4))):
        with torch.autocast(device_type=device.type, dtype=torch.float16, enabled=use_amp):
            loss = torch.nn.functional.cross_entropy(model(xb), yb, label_smoothing=0.1) / 2
        scaler.scale(loss).backward()
        if (step + 1) % 2 == 0:
            scaler.unscale_(opt)
            total_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad(set_to_none=True)
            out += [total_norm.item(), scaler.get_scale()]
        out.append(loss.item())
    return out


def checkpointed_activations(torch):
    """utils.checkpoint with dropout: the same random numbers in the recomputation; checkpoint_sequential."""
    nn, checkpoint = torch.nn, torch.utils.checkpoint
    torch.manual_seed(3)
    block = nn.Sequential(nn.Linear(6, 12), nn.Dropout(0.3), nn.GELU(), nn.Linear(12, 6))
    x = torch.randn(5, 6, requires_grad=True)
    torch.manual_seed(4)
    y = checkpoint.checkpoint(block, x, use_reentrant=False)
    y.square().sum().backward()
    saved, x.grad = x.grad.clone(), None
    torch.manual_seed(4)
    block(x).square().sum().backward()
    z = checkpoint.checkpoint_sequential(nn.Sequential(*[nn.Linear(6, 6) for _ in range(4)]), 2, x, use_reentrant=False)
    z.mean().backward()
    return [saved, (saved - x.grad).abs().max() > 0, y, z.mean()]


def functional_models(torch):
    """functional_call with func.grad and value_and_grad on a dictionary of parameters."""
    F, func = torch.nn.functional, torch.func
    model, x, y = _problem(torch, 5)
    params = {k: v.detach() for k, v in model.named_parameters()}

    def compute_loss(params, x, y):
        return F.cross_entropy(func.functional_call(model, params, (x,)), y)
    losses = []
    for _ in range(5):
        grads, value = func.grad_and_value(compute_loss)(params, x, y)
        params = {k: params[k] - 0.1 * grads[k] for k in params}
        losses.append(value.item())
    per_sample = [func.grad(compute_loss)(params, x[i:i + 1], y[i:i + 1])["0.weight"].norm() for i in range(4)]
    jacobian = func.jacrev(lambda x: model(x))(x[0])
    return [losses, per_sample, jacobian]


def pruning(torch):
    """l1_unstructured, ln_structured and a global threshold; the mask as a buffer; remove makes it permanent."""
    import importlib
    prune, F = importlib.import_module(f"{torch.__name__}.nn.utils.prune"), torch.nn.functional
    model, x, y = _problem(torch, 6)
    prune.l1_unstructured(model[0], name="weight", amount=0.3)
    prune.ln_structured(model[2], name="weight", amount=0.25, n=2, dim=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(3):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    masks = [model[0].weight_mask.sum(), [int(k.endswith("_mask")) for k in model.state_dict()]]
    prune.global_unstructured([(model[0], "weight"), (model[2], "weight")], pruning_method=prune.L1Unstructured, amount=0.5)
    sparsity = [100.0 * float(torch.sum(m.weight == 0)) / float(m.weight.nelement()) for m in (model[0], model[2])]
    for m in (model[0], model[2]):
        prune.remove(m, "weight")
    return [loss, masks, sparsity, model(x).sum(), len(list(model.parameters()))]


def parametrized_weights(torch):
    """A symmetric weight, orthogonal and weight_norm parametrizations, trained; right_inverse by assignment."""
    nn = torch.nn
    parametrize, parametrizations = nn.utils.parametrize, nn.utils.parametrizations
    torch.manual_seed(7)

    class Symmetric(nn.Module):
        def forward(self, X):
            return X.triu() + X.triu(1).transpose(-1, -2)

        def right_inverse(self, A):
            return A.triu()
    a, b, c = nn.Linear(4, 4), parametrizations.orthogonal(nn.Linear(4, 4)), parametrizations.weight_norm(nn.Linear(4, 2))
    parametrize.register_parametrization(a, "weight", Symmetric())
    a.weight = torch.eye(4)
    net = nn.Sequential(a, b, nn.Tanh(), c)
    opt, losses, x = torch.optim.Adam(net.parameters(), lr=0.05), [], torch.randn(10, 4)
    for _ in range(4):
        with parametrize.cached():
            loss = nn.functional.mse_loss(net(x), x[:, :2])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    Q = b.weight
    return [losses, a.weight, a.weight - a.weight.T, (Q.T @ Q - torch.eye(4)).abs() < 1e-5, c.weight.norm(dim=1), parametrize.is_parametrized(a)]


def profile_and_time(torch):
    """profile with record_function around a step; numbers that do not depend on the clock."""
    model, x, y = _problem(torch, 8)
    profiler = torch.profiler
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], record_shapes=True) as prof:
        with profiler.record_function("model_inference"):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
    names = [event.key for event in prof.key_averages()]
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=5)
    with torch.autograd.profiler.profile() as legacy:
        model(x)
    return [loss, "model_inference" in names, len(table) > 0, legacy.self_cpu_time_total > 0]


def names_in_a_profile(torch):
    """The events of a profile carry the names of PyTorch's ops, with their namespace."""
    model, x, _ = _problem(torch, 8)
    with torch.profiler.profile() as prof:
        model(x).relu().sum()
    names = [event.key for event in prof.key_averages()]
    return [name in names for name in ("aten::addmm", "aten::relu", "aten::sum")]


def default_settings(torch):
    """Default dtype and device, context managers as decorators, generators and their states, deterministic flags."""
    torch.set_default_dtype(torch.float64)
    a = torch.tensor([1.0]).dtype == torch.float64
    torch.set_default_dtype(torch.float32)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    torch.use_deterministic_algorithms(True)
    state = torch.get_rng_state()
    x = torch.rand(3)
    torch.set_rng_state(state)
    y = torch.rand(3)
    torch.use_deterministic_algorithms(False)
    torch.backends.cudnn.deterministic = False

    @torch.no_grad()
    def evaluate(w):
        return (w * 2).requires_grad
    with torch.random.fork_rng():
        torch.manual_seed(99)
        z = torch.rand(2)
    g = torch.Generator(device="cpu")
    g.manual_seed(5)
    with torch.device("cpu"):
        e = torch.empty(2).fill_(1)
    return [a, x - y, z, torch.rand(2), torch.randperm(6, generator=g), evaluate(torch.ones(1, requires_grad=True)), e, g.initial_seed(),
            torch.initial_seed(), torch.get_num_threads() > 0, torch.finfo(torch.float32).eps, torch.iinfo(torch.int16).max]


def optimizers(torch):
    """Every optimizer on the same problem; parameter groups and their defaults."""
    optim, out = torch.optim, []
    for name, kwargs in (("SGD", dict(lr=0.1, momentum=0.9, dampening=0.1)), ("Adam", dict(lr=0.02)), ("AdamW", dict(lr=0.02)),
                         ("RMSprop", dict(lr=0.01, centered=True, momentum=0.1)), ("Adagrad", dict(lr=0.1, lr_decay=0.01)),
                         ("Adadelta", dict(lr=1.0)), ("Adamax", dict(lr=0.02)), ("NAdam", dict(lr=0.02)), ("RAdam", dict(lr=0.02)),
                         ("ASGD", dict(lr=0.1)), ("Rprop", dict(lr=0.01))):
        model, x, y = _problem(torch, 9)
        decay = [p for n, p in model.named_parameters() if not n.endswith("bias")]
        rest = [p for n, p in model.named_parameters() if n.endswith("bias")]
        opt = getattr(optim, name)([{"params": decay}, {"params": rest}], **kwargs)
        for _ in range(4):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            out.append(loss.item())
    return out


def memory_saving_optimizer(torch):
    """Adafactor keeps the second moment of a matrix as one row and one column."""
    model, x, y = _problem(torch, 12)
    opt, losses = torch.optim.Adafactor(model.parameters(), lr=0.02), []
    for _ in range(4):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return [losses, opt.state[model[0].weight]["row_var"].numel()]


def data_pipeline(torch):
    """random_split with a generator, WeightedRandomSampler, ConcatDataset, Subset, IterableDataset, a seeded loader."""
    data = torch.utils.data
    torch.manual_seed(10)
    full = data.TensorDataset(torch.arange(20.0).view(20, 1), torch.arange(20) % 3)
    train, val = data.random_split(full, [0.75, 0.25], generator=torch.Generator().manual_seed(42))
    sampler = data.WeightedRandomSampler(weights=[1.0 + i % 3 for i in range(15)], num_samples=10, replacement=True)
    first = [x.view(-1) for x, _ in data.DataLoader(train, batch_size=4, sampler=sampler)]

    class Count(data.IterableDataset):
        def __iter__(self):
            yield from ({"a": torch.tensor([i]), "b": i / 2} for i in range(5))
    second = [(b["a"].view(-1), b["b"]) for b in data.DataLoader(Count(), batch_size=2)]
    both = data.ConcatDataset([data.Subset(full, [1, 2]), val])
    loader = data.DataLoader(both, batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(1), drop_last=False)
    third = [(x.sum(), y) for x, y in loader]
    batches = list(data.BatchSampler(data.SequentialSampler(range(7)), 3, drop_last=True))
    return [val.indices, first, second, third, batches, len(loader), data.default_collate([(1, 2.0), (3, 4.0)])]


def stochastic_weight_averaging(torch):
    """AveragedModel, SWALR and update_bn over a loader."""
    nn = torch.nn
    torch.manual_seed(11)
    swa = torch.optim.swa_utils
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))
    x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    swa_model, swa_scheduler = swa.AveragedModel(model), swa.SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
    for _ in range(3):
        for xb, yb in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(xb), yb).backward()
            optimizer.step()
        swa_model.update_parameters(model)
        swa_scheduler.step()
    swa.update_bn(loader, swa_model)
    swa_model.eval()
    return [swa_model(x), swa_scheduler.get_last_lr(), swa_model.n_averaged, swa_model.module[1].running_mean]


def pruning_in_rounds(torch):
    """Single weights, then rows, then both layers together; training between the rounds, and the masks made permanent."""
    nn = torch.nn
    from importlib import import_module
    prune = import_module(f"{torch.__name__}.nn.utils.prune")
    model, x, y = _problem(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rounds = (lambda: prune.l1_unstructured(model[0], "weight", amount=0.3),
              lambda: prune.ln_structured(model[0], "weight", amount=2, n=2, dim=0),
              lambda: prune.global_unstructured([(model[0], "weight"), (model[2], "weight")], prune.L1Unstructured, amount=0.2))
    found = []
    for prune_more in rounds:
        prune_more()
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        found += [loss, model[0].weight_mask.sum(), len(list(model[0]._forward_pre_hooks.values()))]
    prune.remove(model[0], "weight")
    return [*found, model[0].weight, model[2].weight_mask, prune.is_pruned(model[0]), prune.is_pruned(model)]


def loader_with_workers(torch):
    """Samples that are dicts, fetched by processes, in the order of a generator; a sampler of some samples."""
    data = torch.utils.data

    class Squares(data.Dataset):
        def __len__(self):
            return 7

        def __getitem__(self, i):
            return {"x": torch.tensor([float(i)]), "y": (i * i, str(i))}
    found = []
    for workers in (0, 2):
        for batch in data.DataLoader(Squares(), batch_size=3, num_workers=workers, drop_last=True):
            found += [batch["x"], batch["y"][0], [int(text) for text in batch["y"][1]]]
    loader = data.DataLoader(torch.arange(10), batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(3))
    found += [batch for _ in range(2) for batch in loader]
    some = data.SubsetRandomSampler([2, 0, 5], generator=torch.Generator().manual_seed(1))
    return found + list(data.DataLoader(torch.arange(6) * 2, batch_size=2, sampler=some))


def spectrally_normalized_critic(torch):
    """A hinge loss; the largest singular value of the weight; the normalization made permanent."""
    nn = torch.nn
    torch.manual_seed(2)
    critic = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4), n_power_iterations=3), nn.LeakyReLU(0.2),
                           nn.Linear(4, 1))
    real, fake = torch.randn(16, 4), 0.5 * torch.randn(16, 4) + 1
    optimizer = torch.optim.RMSprop(critic.parameters(), lr=0.01)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (1 - critic(real)).relu().mean() + (1 + critic(fake)).relu().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    norm = torch.linalg.matrix_norm(critic.eval()[0].weight, 2)
    nn.utils.parametrize.remove_parametrizations(critic[0], "weight")
    return [*losses, norm, critic[0].weight, len(critic.state_dict())]
