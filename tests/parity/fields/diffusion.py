"""Programs in the manner of diffusion models: noise schedules, denoisers, scores, samplers, averages of weights."""

# ruff: noqa: RUF007


def _extract(a, t, x_shape):
    out = a.gather(-1, t)
    return out.reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


def _time_embedding(torch, t, dim=8):
    import math
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(start=0, end=half, dtype=torch.float32) / half).to(device=t.device)
    args = t[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


def schedules(torch):
    """Linear, cosine and sigmoid schedules; cumprod, pad and the posterior of the previous step."""
    F = torch.nn.functional
    linear = torch.linspace(1e-4, 0.02, 20)
    x = torch.linspace(0, 20, 21)
    alphas_cumprod = torch.cos(((x / 20) + 0.008) / 1.008 * torch.pi * 0.5) ** 2
    alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
    cosine = torch.clip(1 - (alphas_cumprod[1:] / alphas_cumprod[:-1]), 0.0001, 0.9999)
    sigmoid = torch.sigmoid(torch.linspace(-6, 6, 20)) * (0.02 - 1e-4) + 1e-4
    out = []
    for betas in (linear, cosine, sigmoid):
        alphas = 1.0 - betas
        bar = torch.cumprod(alphas, axis=0)
        bar_prev = F.pad(bar[:-1], (1, 0), value=1.0)
        posterior_variance = betas * (1.0 - bar_prev) / (1.0 - bar)
        out += [bar, torch.sqrt(1.0 / alphas), posterior_variance.clamp(min=1e-20).log(), torch.log(bar / (1 - bar))]
    return out


def ddpm(torch):
    """Predict the noise of a step drawn by randint, then sample backwards with p_sample."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    T = 10
    betas = torch.linspace(1e-3, 0.2, T)
    alphas = 1 - betas
    bar = torch.cumprod(alphas, dim=0)
    net = nn.Sequential(nn.Linear(2 + 8, 24), nn.SiLU(), nn.Linear(24, 2))

    def eps_model(x, t):
        return net(torch.cat([x, _time_embedding(torch, t)], dim=-1))
    opt, losses = torch.optim.Adam(net.parameters(), lr=1e-2), []
    for _ in range(8):
        x0 = torch.randn(16, 2) * 0.1 + torch.tensor([1.0, -1.0])
        t, noise = torch.randint(0, T, (16,)).long(), torch.randn_like(x0)
        xt = _extract(bar, t, x0.shape).sqrt() * x0 + (1 - _extract(bar, t, x0.shape)).sqrt() * noise
        loss = F.mse_loss(noise, eps_model(xt, t))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    with torch.no_grad():
        img = torch.randn(3, 2)
        for i in reversed(range(T)):
            t = torch.full((3,), i, dtype=torch.long)
            mean = (img - betas[i] * eps_model(img, t) / (1 - bar[i]).sqrt()) / alphas[i].sqrt()
            img = mean if i == 0 else mean + betas[i].sqrt() * torch.randn_like(img)
    return [losses, img]


def ddim(torch):
    """Fewer steps, no noise, with classifier-free guidance from a dropped label."""
    nn = torch.nn
    torch.manual_seed(1)
    bar = torch.cumprod(1 - torch.linspace(1e-3, 0.2, 12), 0)
    emb, net = nn.Embedding(3, 4), nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 2))
    opt, losses = torch.optim.AdamW([*emb.parameters(), *net.parameters()], lr=5e-3, weight_decay=0.01), []
    for _ in range(6):
        y = torch.randint(1, 3, (16,))
        x0 = torch.where((y == 1)[:, None], 1.0, -1.0) + 0.1 * torch.randn(16, 2)
        y = y.masked_fill(torch.rand(16) < 0.2, 0)
        a = bar[torch.randint(12, (16,))][:, None]
        noise = torch.randn(16, 2)
        loss = (net(torch.cat([a.sqrt() * x0 + (1 - a).sqrt() * noise, emb(y)], 1)) - noise).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    with torch.inference_mode():
        x, label = torch.randn(4, 2), torch.tensor([1, 1, 2, 2])
        for i, j in zip((11, 8, 5, 2), (8, 5, 2, -1)):
            cond, uncond = net(torch.cat([x, emb(label)], 1)), net(torch.cat([x, emb(torch.zeros_like(label))], 1))
            eps = uncond + 2.0 * (cond - uncond)
            a, a_next = bar[i], bar[j] if j >= 0 else torch.ones(())
            pred_x0 = (x - (1 - a).sqrt() * eps) / a.sqrt()
            x = a_next.sqrt() * pred_x0.clamp(-2, 2) + (1 - a_next).sqrt() * eps
    return [losses, x]


def denoising_score_matching(torch):
    """Noise levels in a geometric series, annealed Langevin dynamics."""
    nn = torch.nn
    torch.manual_seed(2)
    sigmas = torch.logspace(0, -1.5, 5)
    net = nn.Sequential(nn.Linear(3, 32), nn.Softplus(), nn.Linear(32, 2))
    optimizer, losses = torch.optim.Adam(net.parameters(), lr=1e-2), []
    for _ in range(8):
        samples, labels = torch.randn(24, 2) * 0.2 + 1, torch.randint(0, len(sigmas), (24,))
        used = sigmas[labels].view(-1, 1)
        noise = torch.randn_like(samples) * used
        scores = net(torch.cat([samples + noise, used], 1)) / used
        loss = (1 / 2.0 * ((scores + noise / used ** 2) ** 2).sum(dim=-1) * used.squeeze() ** 2).mean(dim=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    x = torch.rand(4, 2)
    with torch.no_grad():
        for sigma in sigmas:
            step = 1e-2 * (sigma / sigmas[-1]) ** 2 * 0.05
            for _ in range(3):
                x += step * net(torch.cat([x, sigma.expand(4, 1)], 1)) / sigma + torch.sqrt(2 * step) * torch.randn_like(x)
    return [losses, x]


def sliced_score_matching(torch):
    """The trace of the Jacobian from a vector-Jacobian product with random directions, differentiated again."""
    nn = torch.nn
    torch.manual_seed(3)
    score = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    opt, losses = torch.optim.SGD(score.parameters(), lr=0.05), []
    for _ in range(6):
        x = torch.randn(16, 2).requires_grad_()
        v = torch.randn_like(x).sign()
        s = score(x)
        grad2 = torch.autograd.grad((s * v).sum(), x, create_graph=True)[0]
        loss = (0.5 * (s * v).sum(dim=-1) ** 2 + (v * grad2).sum(dim=-1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def energy_and_langevin(torch):
    """An energy model: contrastive divergence with samples from Langevin steps, the energy's gradient by autograd."""
    nn = torch.nn
    torch.manual_seed(4)
    energy = nn.Sequential(nn.Linear(2, 16), nn.ELU(), nn.Linear(16, 1))
    opt, out = torch.optim.Adam(energy.parameters(), lr=5e-3), []

    def sample(x, steps=4):
        for p in energy.parameters():
            p.requires_grad_(False)
        for _ in range(steps):
            x = x.detach().requires_grad_(True)
            x.data.add_(torch.randn_like(x) * 0.01)
            energy(x).sum().backward()
            x.grad.data.clamp_(-0.1, 0.1)
            x.data.add_(x.grad.data, alpha=-0.5)
        for p in energy.parameters():
            p.requires_grad_(True)
        return x.detach()
    for _ in range(5):
        real, fake = torch.randn(8, 2) + 2, sample(torch.rand(8, 2) * 2 - 1)
        e_real, e_fake = energy(real), energy(fake)
        loss = e_real.mean() - e_fake.mean() + 0.1 * (e_real ** 2 + e_fake ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        out += [loss.item(), fake.mean().item()]
    return out


def unet_with_ema(torch):
    """A small U-Net with GroupNorm, skip connections and an exponential moving average of its weights."""
    import copy
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(5)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 8))
            self.inc, self.down = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 4, 2, 1)
            self.norm, self.mid = nn.GroupNorm(2, 8), nn.Conv2d(8, 8, 3, padding=1)
            self.up, self.out = nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.Conv2d(16, 1, 1)

        def forward(self, x, t):
            h1 = self.inc(x)
            h = self.down(F.silu(h1)) + self.time(_time_embedding(torch, t))[:, :, None, None]
            h = h + self.mid(F.silu(self.norm(h)))
            return self.out(torch.cat((self.up(h), h1), dim=1))

    class EMA:
        def __init__(self, beta):
            self.beta = beta

        def update(self, ma_model, current_model):
            for current, ma in zip(current_model.parameters(), ma_model.parameters()):
                ma.data = ma.data * self.beta + (1 - self.beta) * current.data
    model = UNet()
    ema_model, ema, losses = copy.deepcopy(model).eval().requires_grad_(False), EMA(0.9), []
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(3):
        x, t = torch.rand(2, 1, 8, 8) * 2 - 1, torch.randint(0, 50, (2,))
        noise = torch.randn_like(x)
        loss = F.smooth_l1_loss(model(x + noise, t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(ema_model, model)
        losses.append(loss.item())
    return [losses, ema_model(x, t).abs().mean(), sum(p.abs().sum() for p in ema_model.parameters())]


def flow_matching(torch):
    """Straight paths between noise and data, the velocity learned, integrated by Euler steps; AveragedModel as EMA."""
    nn = torch.nn
    swa = torch.optim.swa_utils
    torch.manual_seed(6)
    model = nn.Sequential(nn.Linear(3, 24), nn.ELU(), nn.Linear(24, 2))
    averaged = swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.9))
    opt, losses = torch.optim.Adam(model.parameters(), 1e-2), []
    for _ in range(8):
        x1 = torch.stack([torch.rand(16) * 2 - 1, torch.rand(16) * 0.2], 1)
        x0, t = torch.randn_like(x1), torch.rand(len(x1), 1)
        x_t, dx_t = (1 - t) * x0 + t * x1, x1 - x0
        opt.zero_grad()
        loss = nn.MSELoss()(model(torch.cat((t, x_t), -1)), dx_t)
        loss.backward()
        opt.step()
        averaged.update_parameters(model)
        losses.append(loss.item())
    x, ts = torch.randn(4, 2), torch.linspace(0, 1.0, 5)
    for t0, t1 in zip(ts[:-1], ts[1:]):
        x = x + (t1 - t0) * averaged(torch.cat((t0.view(1, 1).expand(4, 1), x), -1))
    return [losses, x, averaged.n_averaged]


def variance_exploding_sde(torch):
    """marginal_prob_std from a tensor of times, Gaussian Fourier features kept as a buffer, Euler-Maruyama."""
    import functools
    import math
    nn = torch.nn
    torch.manual_seed(7)

    class GaussianFourierProjection(nn.Module):
        def __init__(self, embed_dim, scale=3.0):
            super().__init__()
            self.W = nn.Parameter(torch.randn(embed_dim // 2) * scale, requires_grad=False)

        def forward(self, x):
            x_proj = x[:, None] * self.W[None, :] * 2 * math.pi
            return torch.cat([torch.sin(x_proj), torch.cos(x_proj)], dim=-1)

    def marginal_prob_std(t, sigma):
        t = torch.as_tensor(t)
        return torch.sqrt((sigma ** (2 * t) - 1.0) / 2.0 / math.log(sigma))
    std_fn = functools.partial(marginal_prob_std, sigma=5.0)
    fourier, net = GaussianFourierProjection(8), nn.Sequential(nn.Linear(10, 16), nn.SiLU(), nn.Linear(16, 2))

    def score(x, t):
        return net(torch.cat([x, fourier(t)], 1)) / std_fn(t)[:, None]
    opt, losses = torch.optim.Adam([p for p in [*fourier.parameters(), *net.parameters()] if p.requires_grad], lr=5e-3), []
    for _ in range(6):
        x, t, z = torch.randn(16, 2) * 0.3, torch.rand(16) * (1.0 - 1e-5) + 1e-5, torch.randn(16, 2)
        std = std_fn(t)
        loss = torch.mean(torch.sum((score(x + z * std[:, None], t) * std[:, None] + z) ** 2, dim=1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    x = torch.randn(3, 2) * std_fn(torch.ones(3))[:, None]
    with torch.no_grad():
        for s in torch.linspace(1.0, 1e-3, 6):
            g = 5.0 ** s
            mean = x + g ** 2 * score(x, torch.ones(3) * s) * 0.2
            x = mean + torch.sqrt(torch.tensor(0.2)) * g * torch.randn_like(x)
    return [losses, mean]
