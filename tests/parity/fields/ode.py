"""Programs in the manner of neural differential equations: solvers, adjoints, physics-informed losses."""

# ruff: noqa: RUF007


def _rk4(f, t, dt, y):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt * k1 / 2)
    k3 = f(t + dt / 2, y + dt * k2 / 2)
    k4 = f(t + dt, y + dt * k3)
    return y + (k1 + 2 * k2 + 2 * k3 + k4) * dt / 6


def _odeint(torch, f, y0, t):
    ys = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        ys.append(_rk4(f, t0, t1 - t0, ys[-1]))
    return torch.stack(ys)


def spiral(torch):
    """Learn a spiral: batches of short pieces of the true trajectory, RK4 differentiated through its steps."""
    nn = torch.nn
    torch.manual_seed(0)
    true_A, true_y0 = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]]), torch.tensor([[2.0, 0.0]])
    t = torch.linspace(0.0, 5.0, 41)
    with torch.no_grad():
        true_y = _odeint(torch, lambda t, y: torch.mm(y ** 3, true_A), true_y0, t)

    class ODEFunc(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
            for m in self.net.modules():
                if isinstance(m, nn.Linear):
                    nn.init.normal_(m.weight, mean=0, std=0.1)
                    nn.init.constant_(m.bias, val=0)

        def forward(self, t, y):
            return self.net(y ** 3)
    func, losses = ODEFunc(), []
    optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
    for _ in range(4):
        s = torch.randperm(36)[:6]
        batch_y = torch.stack([true_y[s + i] for i in range(5)], dim=0)
        optimizer.zero_grad()
        pred_y = _odeint(torch, func, true_y[s], t[:5])
        loss = torch.mean(torch.abs(pred_y - batch_y))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, pred_y[-1]]


def adjoint_method(torch):
    """An autograd.Function whose backward solves the adjoint equation; compared with backpropagation."""
    nn = torch.nn
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float64)
    net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 2))
    params = tuple(net.parameters())

    class ODEAdjoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, y0, steps, *params):
            ctx.steps = steps
            with torch.no_grad():
                y = y0
                for _ in range(steps):
                    y = _rk4(lambda t, y: net(y), 0, 1 / steps, y)
            ctx.save_for_backward(y, *params)
            return y

        @staticmethod
        def backward(ctx, grad_y):
            y, *params = ctx.saved_tensors
            a, grads, dt = grad_y, [torch.zeros_like(p) for p in params], 1 / ctx.steps
            for _ in range(ctx.steps):
                with torch.enable_grad():
                    y_ = y.detach().requires_grad_(True)
                    prev = _rk4(lambda t, y: -net(y), 0, dt, y_)
                    step = _rk4(lambda t, y: net(y), 0, dt, prev.detach().requires_grad_(True))
                    mid = prev.detach().requires_grad_(True)
                    step = _rk4(lambda t, y: net(y), 0, dt, mid)
                    a_new, *dp = torch.autograd.grad(step, (mid, *params), a)
                grads, y, a = [g + d for g, d in zip(grads, dp)], prev.detach(), a_new
            return (a, None, *grads)
    y0 = torch.randn(3, 2, requires_grad=True)
    loss = ODEAdjoint.apply(y0, 10, *params).pow(2).sum()
    adjoint = torch.autograd.grad(loss, (y0, *params))
    y = y0
    for _ in range(10):
        y = _rk4(lambda t, y: net(y), 0, 0.1, y)
    exact = torch.autograd.grad(y.pow(2).sum(), (y0, *params))
    return [loss, adjoint, [torch.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(adjoint, exact)]]


def euler_resnet(torch):
    """Residual blocks as Euler steps with shared weights; time is concatenated as a channel."""
    nn = torch.nn
    torch.manual_seed(2)

    class ConcatConv2d(nn.Module):
        def __init__(self, dim_in, dim_out):
            super().__init__()
            self._layer = nn.Conv2d(dim_in + 1, dim_out, 3, 1, 1)

        def forward(self, t, x):
            tt = torch.ones_like(x[:, :1, :, :]) * t
            return self._layer(torch.cat([tt, x], 1))
    norm, conv, head = nn.GroupNorm(min(32, 4), 4), ConcatConv2d(4, 4), nn.Linear(4, 3)
    params = [*norm.parameters(), *conv.parameters(), *head.parameters()]
    opt, losses = torch.optim.SGD(params, lr=0.1, momentum=0.9), []
    x, y = torch.randn(5, 4, 6, 6), torch.tensor([0, 1, 2, 1, 0])
    for _ in range(3):
        h = x
        for i in range(4):
            h = h + 0.25 * conv(i * 0.25, torch.relu(norm(h)))
        loss = nn.functional.cross_entropy(head(nn.AdaptiveAvgPool2d((1, 1))(h).flatten(1)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def adaptive_step(torch):
    """A Heun-Euler pair that controls its own step; the event time of a bouncing ball by bisection."""
    torch.set_default_dtype(torch.float64)
    k = torch.tensor(3.0, requires_grad=True)

    def f(y):
        return torch.stack([y[1], -k * y[0]])
    y, t, dt, steps = torch.tensor([1.0, 0.0]), torch.tensor(0.0), torch.tensor(0.1), 0
    while t < 1.0 and steps < 100:
        k1 = f(y)
        k2 = f(y + dt * k1)
        error = (dt * 0.5 * (k2 - k1)).abs().max()
        if error < 1e-3:
            y, t = y + dt * 0.5 * (k1 + k2), t + dt
        dt = torch.minimum(dt * torch.clamp(0.9 * (1e-3 / (error.detach() + 1e-12)) ** 0.5, 0.2, 2.0), (1.0 - t).clamp(min=1e-6))
        steps += 1
    (grad,) = torch.autograd.grad(y[0], k)
    lo, hi = torch.zeros(()), torch.ones(()) * 3
    for _ in range(30):
        mid = (lo + hi) / 2
        lo, hi = torch.where(10 - 4.9 * mid ** 2 > 0, mid, lo), torch.where(10 - 4.9 * mid ** 2 > 0, hi, mid)
    return [y, grad, steps, lo]


def hamiltonian_network(torch):
    """The vector field from the gradient of an energy; leapfrog keeps it nearly constant."""
    nn = torch.nn
    torch.manual_seed(3)
    H = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1, bias=None))
    for l in (H[0], H[2]):
        torch.nn.init.orthogonal_(l.weight)
    J = torch.eye(2)[[1, 0]] * torch.tensor([[1.0], [-1.0]])
    optim, losses = torch.optim.Adam(H.parameters(), 1e-2, weight_decay=1e-4), []
    for _ in range(5):
        x = torch.randn(16, 2, requires_grad=True)
        dxdt = torch.stack([x[:, 1], -x[:, 0]], 1).detach()
        dH = torch.autograd.grad(H(x).sum(), x, create_graph=True)[0]
        loss = (dxdt - dH @ J.t()).pow(2).mean()
        loss.backward()
        optim.step()
        optim.zero_grad()
        losses.append(loss.item())
    q, p = torch.tensor(1.0), torch.tensor(0.0)
    for _ in range(20):
        p = p - 0.05 * q
        q = q + 0.1 * p
        p = p - 0.05 * q
    return [losses, q, p, 0.5 * (q ** 2 + p ** 2)]


def physics_informed(torch):
    """The heat equation: derivatives of a network's output with respect to its inputs, three times."""
    nn = torch.nn
    torch.manual_seed(4)
    u = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    opt, losses = torch.optim.Adam(u.parameters(), lr=1e-2), []

    def grad(out, wrt):
        return torch.autograd.grad(out, wrt, grad_outputs=torch.ones_like(out), create_graph=True)[0]
    for _ in range(5):
        x, t = torch.rand(20, 1, requires_grad=True), torch.rand(20, 1, requires_grad=True)
        y = u(torch.hstack([x, t]))
        u_t, u_x = grad(y, t), grad(y, x)
        u_xx = grad(u_x, x)
        residual = (u_t - 0.1 * u_xx).pow(2).mean()
        x0 = torch.linspace(0, 1, 10).unsqueeze(1)
        initial = (u(torch.cat([x0, torch.zeros_like(x0)], 1)) - torch.sin(torch.pi * x0)).pow(2).mean()
        loss = residual + initial
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses += [residual.item(), initial.item()]
    return losses


def continuous_normalizing_flow(torch):
    """The log density follows the trace of the Jacobian, computed exactly in two dimensions."""
    nn = torch.nn
    torch.manual_seed(5)
    f = nn.Sequential(nn.Linear(3, 12), nn.Softplus(), nn.Linear(12, 2))
    opt, losses = torch.optim.Adam(f.parameters(), lr=1e-2), []

    def trace_df_dz(dz, z):
        sum_diag = 0.0
        for i in range(z.shape[1]):
            sum_diag += torch.autograd.grad(dz[:, i].sum(), z, create_graph=True)[0].contiguous()[:, i].contiguous()
        return sum_diag.contiguous()
    p_z0 = torch.distributions.MultivariateNormal(loc=torch.tensor([0.0, 0.0]), covariance_matrix=torch.eye(2) * 0.5)
    for _ in range(3):
        z, logp = torch.randn(8, 2) * torch.tensor([1.0, 0.3]) + 0.5, torch.zeros(8)
        for t in (1.0, 0.75, 0.5, 0.25):
            z = z.requires_grad_(True)
            dz = f(torch.cat([z, torch.full((8, 1), t)], 1))
            logp = logp - 0.25 * trace_df_dz(dz, z)
            z = z - 0.25 * dz
        loss = -(p_z0.log_prob(z) + logp).mean(0)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def latent_ode(torch):
    """A recurrent encoder that runs backwards, a sample of the latent start, RK4, a decoder."""
    nn = torch.nn
    torch.manual_seed(6)
    rnn, h2z = nn.RNNCell(2, 8), nn.Linear(8, 4)
    func, dec = nn.Sequential(nn.Linear(2, 8), nn.ELU(inplace=True), nn.Linear(8, 2)), nn.Linear(2, 2)
    opt = torch.optim.Adam([p for m in (rnn, h2z, func, dec) for p in m.parameters()], lr=1e-2)
    ts = torch.linspace(0, 2, 8)
    obs, losses = torch.stack([ts.cos(), ts.sin()], 1).repeat(5, 1, 1) + 0.05 * torch.randn(5, 8, 2), []
    for _ in range(3):
        h = torch.zeros(5, 8)
        for t in reversed(range(obs.size(1))):
            h = rnn(obs[:, t, :], h)
        mean, logvar = h2z(h)[:, :2], h2z(h)[:, 2:]
        z0 = torch.randn(mean.size()) * torch.exp(0.5 * logvar) + mean
        pred = dec(_odeint(torch, lambda t, y: func(y), z0, ts).permute(1, 0, 2))
        logpx = -0.5 * ((obs - pred) ** 2 / 0.09).sum(-1).sum(-1)
        kl = (0.5 * (mean ** 2 + logvar.exp() - 1 - logvar)).sum(-1)
        loss = torch.mean(-logpx + kl, dim=0)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def stochastic_differential_equation(torch):
    """Euler-Maruyama of a geometric Brownian motion; the sensitivity of an option's price to spot and volatility."""
    torch.manual_seed(7)
    S0, sigma = torch.tensor(100.0, requires_grad=True), torch.tensor(0.2, requires_grad=True)
    S, dt = S0.expand(200), 1 / 10
    for dW in torch.randn(10, 200).mul(dt ** 0.5).unbind():
        S = S + 0.05 * S * dt + sigma * S * dW
    payoff = torch.relu(S - 100.0)
    price = payoff.mean() * torch.exp(torch.tensor(-0.05))
    delta, vega = torch.autograd.grad(price, [S0, sigma])
    return [price, delta, vega, torch.quantile(S.detach(), torch.tensor([0.05, 0.5, 0.95])), S.std(), torch.histc(S, bins=5)]
