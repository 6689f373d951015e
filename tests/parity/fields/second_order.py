"""Programs in the manner of work on curvature: Hessians, products with them, Newton, natural gradients, LBFGS."""


def _rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def hessian_four_ways(torch):
    """autograd.functional.hessian, func.hessian, jacfwd over jacrev, and rows by autograd.grad."""
    x = torch.tensor([0.3, -0.4, 0.8], dtype=torch.double, requires_grad=True)
    first = torch.autograd.functional.hessian(_rosenbrock, x)
    second = torch.func.hessian(_rosenbrock)(x.detach())
    third = torch.func.jacfwd(torch.func.jacrev(_rosenbrock))(x.detach())
    (g,) = torch.autograd.grad(_rosenbrock(x), x, create_graph=True)
    fourth = torch.stack([torch.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(3)])
    return [first, second, third, fourth, torch.linalg.eigvalsh(first)]


def hessian_vector_products(torch):
    """vhp, hvp, double backward, forward over reverse with jvp; power iteration for the largest eigenvalue."""
    torch.manual_seed(0)
    x, v = torch.randn(4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    _, a = torch.autograd.functional.vhp(_rosenbrock, x, v)
    _, b = torch.autograd.functional.hvp(_rosenbrock, x, v)
    _, c = torch.func.jvp(torch.func.grad(_rosenbrock), (x,), (v,))
    _, pull = torch.func.vjp(torch.func.grad(_rosenbrock), x)
    (d,) = pull(v)
    for _ in range(15):
        v = v / v.norm()
        _, hv = torch.func.jvp(torch.func.grad(_rosenbrock), (x,), (v,))
        eigenvalue, v = torch.dot(v, hv), hv
    return [a, b, c, d, eigenvalue]


def lbfgs_rosenbrock(torch):
    """LBFGS with strong Wolfe line search and a closure."""
    x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer, values = torch.optim.LBFGS([x], lr=1, max_iter=5, history_size=5, line_search_fn="strong_wolfe"), []

    def closure():
        optimizer.zero_grad()
        loss = _rosenbrock(x)
        loss.backward()
        return loss
    for _ in range(6):
        values.append(optimizer.step(closure).item())
    return [values, x, optimizer.state[x]["n_iter"]]


def newton_logistic_regression(torch):
    """Newton's method: linalg.solve of the Hessian of a convex loss, damped by a ridge."""
    torch.manual_seed(1)
    X, w = torch.randn(40, 3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    y = (torch.sigmoid(X @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)) > torch.rand(40)).double()

    def loss(w):
        return torch.nn.functional.binary_cross_entropy_with_logits(X @ w, y) + 0.05 * w.dot(w)
    out = []
    for _ in range(5):
        value, g, H = loss(w), torch.func.grad(loss)(w), torch.func.hessian(loss)(w)
        w = w - torch.linalg.solve(H, g)
        out += [value, g.norm(), torch.logdet(H)]
    return [out, w]


def gauss_newton(torch):
    """Levenberg-Marquardt on a curve with torch.autograd.functional.jacobian and a Cholesky solve."""
    torch.set_default_dtype(torch.float64)
    t = torch.linspace(0, 2, 15)
    y, p, lam, costs = 2.0 * torch.exp(-1.3 * t) + 0.1, torch.tensor([1.0, -0.5, 0.0]), 1e-1, []

    def residual(p):
        return p[0] * torch.exp(p[1] * t) + p[2] - y
    for _ in range(8):
        r, J = residual(p), torch.autograd.functional.jacobian(residual, p)
        A = J.T @ J + lam * torch.eye(3)
        step = torch.cholesky_solve(-(J.T @ r).unsqueeze(1), torch.linalg.cholesky(A)).squeeze(1)
        if residual(p + step).square().sum() < r.square().sum():
            p, lam = p + step, lam / 3
        else:
            lam *= 2
        costs.append(residual(p).square().sum().item())
    return [costs, p]


def natural_gradient(torch):
    """Fisher-vector products from the KL divergence of two categorical policies, conjugate gradients, line search."""
    nn, Categorical = torch.nn, torch.distributions.Categorical
    torch.manual_seed(2)
    net, x = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3)).double(), torch.randn(20, 3, dtype=torch.float64)
    actions, advantages = torch.randint(0, 3, (20,)), torch.randn(20, dtype=torch.float64)
    params = list(net.parameters())

    def flat_grad(y, create_graph=False):
        grads = torch.autograd.grad(y, params, retain_graph=create_graph, create_graph=create_graph)
        return torch.cat([g.contiguous().view(-1) for g in grads])

    def fvp(v):
        old, new = Categorical(logits=net(x).detach()), Categorical(logits=net(x))
        g = flat_grad(torch.distributions.kl.kl_divergence(old, new).mean(), create_graph=True)
        return flat_grad((g * v).sum()) + 0.1 * v
    g = flat_grad((Categorical(logits=net(x)).log_prob(actions) * advantages).mean())
    step, r = torch.zeros_like(g), g.clone()
    p, rdotr = r.clone(), torch.dot(r, r)
    for _ in range(8):
        Avp = fvp(p)
        alpha = rdotr / torch.dot(p, Avp)
        step += alpha * p
        r -= alpha * Avp
        new = torch.dot(r, r)
        p, rdotr = r + (new / rdotr) * p, new
    scale = torch.sqrt(2 * 0.01 / (step @ fvp(step)))
    flat = torch.nn.utils.parameters_to_vector(params)
    torch.nn.utils.vector_to_parameters(flat + scale * step, params)
    return [g, step, scale, net(x).logsumexp(1).mean()]


def kronecker_factors(torch):
    """Hooks collect inputs and output gradients of each linear layer; the update multiplies by both inverses."""
    nn = torch.nn
    torch.manual_seed(3)
    model, stats = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).double(), {}

    def save_input(module, inputs):
        stats[module] = [inputs[0].t() @ inputs[0] / inputs[0].size(0)]

    def save_grad(module, grad_input, grad_output):
        g = grad_output[0] * grad_output[0].size(0)
        stats[module].append(g.t() @ g / g.size(0))
    for module in model.modules():
        if module.__class__.__name__ == "Linear":
            module.register_forward_pre_hook(save_input)
            module.register_full_backward_hook(save_grad)
    x, y, losses = torch.randn(30, 4, dtype=torch.float64), torch.randint(0, 3, (30,)), []
    for _ in range(5):
        model.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        for m, (A, G) in stats.items():
            damp = 0.1
            Ainv = torch.linalg.inv(A + damp * torch.eye(A.size(0), dtype=A.dtype))
            Ginv = torch.cholesky_inverse(torch.linalg.cholesky(G + damp * torch.eye(G.size(0), dtype=G.dtype)))
            with torch.no_grad():
                m.weight.add_(Ginv @ m.weight.grad @ Ainv, alpha=-0.05)
        losses.append(loss.item())
    return [losses, [torch.trace(A) for A, _ in stats.values()]]


def hutchinson_trace(torch):
    """The trace of a network's Hessian from Rademacher vectors; the exact diagonal for comparison; AdaHessian's step."""
    nn = torch.nn
    torch.manual_seed(4)
    net, x, y = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1)), torch.randn(12, 3), torch.randn(12, 1)
    params = [p for p in net.parameters() if p.requires_grad]
    loss = nn.functional.mse_loss(net(x), y)
    grads = torch.autograd.grad(loss, params, create_graph=True)
    estimates = []
    for _ in range(4):
        zs = [torch.randint(0, 2, p.size()) * 2.0 - 1.0 for p in params]
        h_zs = torch.autograd.grad(grads, params, grad_outputs=zs, only_inputs=True, retain_graph=True)
        estimates.append(sum((h * z).sum() for h, z in zip(h_zs, zs)))
    exact = sum(torch.autograd.grad(g.view(-1)[i], p, retain_graph=True)[0].view(-1)[i]
                for g, p in zip(grads, params) for i in range(p.numel()))
    with torch.no_grad():
        for p, g, h in zip(params, grads, h_zs):
            p.addcdiv_(g, h.abs().add(1.0), value=-0.1)
    return [estimates, exact, nn.functional.mse_loss(net(x), y)]


def meta_learning(torch):
    """Gradients through three inner steps of gradient descent on sine waves, with func.functional_call."""
    nn, F, functional_call = torch.nn, torch.nn.functional, torch.func.functional_call
    torch.manual_seed(5)
    net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
    meta, losses = torch.optim.Adam(net.parameters(), lr=1e-2), []
    for _ in range(3):
        meta.zero_grad()
        total = 0.0
        for _ in range(2):
            amplitude, phase = torch.rand(1) * 4 + 0.1, torch.rand(1) * 3.14
            x1, x2 = torch.rand(8, 1) * 10 - 5, torch.rand(8, 1) * 10 - 5
            fast = dict(net.named_parameters())
            for _ in range(3):
                inner = F.mse_loss(functional_call(net, fast, (x1,)), amplitude * torch.sin(x1 + phase))
                grads = torch.autograd.grad(inner, list(fast.values()), create_graph=True)
                fast = {k: p - 0.01 * g for (k, p), g in zip(fast.items(), grads)}
            total = total + F.mse_loss(functional_call(net, fast, (x2,)), amplitude * torch.sin(x2 + phase))
        total.backward()
        meta.step()
        losses.append(total.item())
    return losses


def implicit_differentiation(torch):
    """The gradient of a fixed point through the implicit function theorem, in a custom Function with a linear solve."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(6)

    class FixedPoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, W, x):
            z = torch.zeros_like(x)
            for _ in range(50):
                z = torch.tanh(z @ W.T + x)
            ctx.save_for_backward(W, z)
            return z

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            W, z = ctx.saved_tensors
            D = torch.diag_embed(1 - z ** 2)
            u = torch.linalg.solve(torch.eye(W.shape[0]) - (D @ W).transpose(-1, -2), g.unsqueeze(-1)).squeeze(-1)
            gx = u * (1 - z ** 2)
            return gx.T @ z, gx
    W = (torch.randn(3, 3) * 0.3).requires_grad_()
    x = torch.randn(2, 3, requires_grad=True)
    ok = torch.autograd.gradcheck(FixedPoint.apply, (W, x), eps=1e-6, atol=1e-5)
    FixedPoint.apply(W, x).sum().backward()
    return [ok, W.grad, x.grad]
