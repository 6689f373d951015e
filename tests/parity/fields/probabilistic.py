"""Programs in the manner of probabilistic modelling: variational inference, mixtures, divergences, flows, Markov chains."""


def variational_bayes(torch):
    """A Gaussian posterior over the weights of a regression: rsample, log_prob of likelihood and prior."""
    dist = torch.distributions
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 20)
    y = 2 * x - 0.5 + 0.1 * torch.randn(20)
    loc, log_scale = torch.zeros(2, requires_grad=True), torch.full((2,), -1.0, requires_grad=True)
    prior, optimizer, losses = dist.Normal(torch.zeros(2), torch.ones(2)), torch.optim.Adam([loc, log_scale], lr=0.05), []
    for _ in range(8):
        q = dist.Normal(loc, log_scale.exp())
        w = q.rsample((5,))
        likelihood = dist.Normal(w[:, :1] * x + w[:, 1:], 0.1).log_prob(y).sum(1)
        elbo = (likelihood + (prior.log_prob(w) - q.log_prob(w)).sum(1)).mean()
        optimizer.zero_grad()
        (-elbo).backward()
        optimizer.step()
        losses.append(elbo.item())
    return [losses, loc, log_scale]


def bayes_by_backprop(torch):
    """A linear layer with a distribution over its weights, kl_divergence to the prior, predictions averaged."""
    nn, F, dist = torch.nn, torch.nn.functional, torch.distributions
    torch.manual_seed(1)

    class BayesianLinear(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.mu, self.rho = nn.Parameter(torch.empty(o, i).uniform_(-0.2, 0.2)), nn.Parameter(torch.full((o, i), -3.0))

        @property
        def posterior(self):
            return dist.Normal(self.mu, F.softplus(self.rho))

        def forward(self, x):
            return F.linear(x, self.posterior.rsample())

        def kl(self):
            return dist.kl_divergence(self.posterior, dist.Normal(0.0, 1.0)).sum()
    net = nn.Sequential(BayesianLinear(3, 8), nn.ReLU(), BayesianLinear(8, 1))
    opt, losses, x = torch.optim.Adam(net.parameters(), lr=0.01), [], torch.randn(30, 3)
    y = x.sum(1, keepdim=True).sin()
    for _ in range(6):
        kl = sum(m.kl() for m in net if isinstance(m, BayesianLinear))
        loss = F.gaussian_nll_loss(net(x), y, torch.full_like(y, 0.01), reduction="sum") + kl / 10
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses += [loss.item(), kl.item()]
    samples = torch.stack([net(x[:4]) for _ in range(5)])
    return [losses, samples.mean(0), samples.std(0)]


def gaussian_mixture(torch):
    """MixtureSameFamily fitted by gradient descent on its log probability; responsibilities by softmax."""
    D = torch.distributions
    torch.manual_seed(2)
    data = torch.cat([torch.randn(15, 2) * 0.3 + 1, torch.randn(15, 2) * 0.5 - 1])
    logits, loc = torch.zeros(2, requires_grad=True), torch.tensor([[0.5, 0.0], [-0.5, 0.0]], requires_grad=True)
    scale = torch.zeros(2, 2, requires_grad=True)
    opt, losses = torch.optim.Adam([logits, loc, scale], lr=0.1), []
    for _ in range(10):
        mix = D.Categorical(logits=logits)
        comp = D.Independent(D.Normal(loc, scale.exp()), 1)
        gmm = D.MixtureSameFamily(mix, comp)
        loss = -gmm.log_prob(data).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    resp = (mix.logits + comp.log_prob(data[:, None])).softmax(1)
    return [losses, loc, resp[::10], gmm.mean, gmm.variance, gmm.sample((3,))]


def divergences(torch):
    """kl_divergence of pairs that have a formula, beside a Monte Carlo estimate of one of them."""
    from itertools import pairwise
    D = torch.distributions
    torch.manual_seed(3)
    normal = [D.Normal(0.0, 1.0), D.Normal(torch.tensor([0.5, -1.0]), torch.tensor([0.7, 2.0])), D.Normal(1.0, 0.5)]
    gamma = [D.Gamma(2.0, 1.0), D.Gamma(1.5, 2.5)]
    beta = [D.Beta(2.0, 3.0), D.Beta(1.0, 1.5)]
    discrete = [D.Categorical(torch.tensor([0.2, 0.3, 0.5])), D.Categorical(logits=torch.tensor([0.0, 1.0, -1.0]))]
    bern, dirichlet = [D.Bernoulli(0.3), D.Bernoulli(logits=torch.tensor(1.0))], [D.Dirichlet(torch.tensor([1.0, 2.0, 3.0])), D.Dirichlet(torch.ones(3))]
    mvn = [D.MultivariateNormal(torch.zeros(2), torch.eye(2)), D.MultivariateNormal(torch.ones(2), torch.tensor([[2.0, 0.3], [0.3, 1.0]]))]
    out = [D.kl_divergence(p, q) for family in (normal, gamma, beta, discrete, bern, dirichlet, mvn) for p, q in pairwise(family)]
    x = normal[0].sample((2000,))
    estimate = (normal[0].log_prob(x) - normal[2].log_prob(x)).mean()
    return [out, estimate, D.kl_divergence(D.Laplace(0.0, 1.0), D.Normal(0.0, 1.0)), D.kl_divergence(D.Uniform(0.0, 1.0), D.Normal(0.0, 1.0))]


def normalizing_flow(torch):
    """TransformedDistribution with affine and Tanh transforms, then coupling layers of one's own."""
    nn, D = torch.nn, torch.distributions
    T = D.transforms
    torch.manual_seed(4)
    loc, scale = torch.zeros(2, requires_grad=True), torch.ones(2, requires_grad=True)

    class Coupling(nn.Module):
        def __init__(self, flip):
            super().__init__()
            self.flip, self.net = flip, nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 2))

        def forward(self, x):
            a, b = x.flip(1).chunk(2, 1) if self.flip else x.chunk(2, 1)
            s, t = self.net(a).chunk(2, dim=1)
            return torch.cat([a, (b - t) * torch.exp(-s)], 1), -s.sum(1)
    layers = nn.ModuleList([Coupling(False), Coupling(True)])
    opt, losses = torch.optim.Adam([loc, scale, *layers.parameters()], lr=1e-2), []
    data = torch.tanh(torch.randn(24, 2) * 0.5 + 0.3) * 0.9
    for _ in range(8):
        base = D.Independent(D.Normal(torch.zeros(2), torch.ones(2)), 1)
        flow = D.TransformedDistribution(base, [T.AffineTransform(loc, scale.abs() + 0.1, event_dim=1), T.TanhTransform()])
        x, log_det = data, 0.0
        for layer in layers:
            x, ld = layer(x)
            log_det = log_det + ld
        loss = -flow.log_prob(data).mean() - (base.log_prob(x) + log_det).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return [losses, loc, scale, flow.rsample((3,)), T.ComposeTransform(flow.transforms).inv(data[:2])]


def discrete_latents(torch):
    """Gumbel-softmax with a falling temperature, straight-through samples, RelaxedOneHotCategorical."""
    nn, F, D = torch.nn, torch.nn.functional, torch.distributions
    torch.manual_seed(5)
    enc, dec = nn.Linear(6, 8), nn.Linear(8, 6)
    opt, losses, x = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=0.02), [], (torch.rand(10, 6) > 0.5).float()
    for step in range(6):
        logits = enc(x).view(-1, 2, 4)
        z = F.gumbel_softmax(logits, tau=max(0.5, 1.0 - 0.1 * step), hard=step % 2 == 1, dim=-1)
        q = F.softmax(logits, -1)
        kl = (q * (q * 4 + 1e-20).log()).sum((-1, -2)).mean()
        loss = F.binary_cross_entropy_with_logits(dec(z.flatten(1)), x, reduction="none").sum(1).mean() + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    relaxed = D.RelaxedOneHotCategorical(torch.tensor(0.7), logits=logits[0].detach())
    sample = relaxed.rsample()
    return [losses, sample, relaxed.log_prob(sample), D.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor([0.2, 0.8])).rsample()]


def markov_chain_monte_carlo(torch):
    """Hamiltonian Monte Carlo: leapfrog steps with the gradient of the log probability, accept or reject."""
    D = torch.distributions
    torch.manual_seed(6)
    target = D.MultivariateNormal(torch.tensor([1.0, -1.0]), covariance_matrix=torch.tensor([[1.0, 0.6], [0.6, 0.8]]))

    def grad_log_prob(q):
        q = q.detach().requires_grad_(True)
        return torch.autograd.grad(target.log_prob(q), q)[0]
    q, samples, accepted = torch.zeros(2), [], 0
    for _ in range(12):
        p = torch.randn(2)
        q_new, p_new = q.clone(), p + 0.1 * grad_log_prob(q)
        for i in range(5):
            q_new = q_new + 0.2 * p_new
            p_new = p_new + (0.2 if i < 4 else 0.1) * grad_log_prob(q_new)
        log_ratio = target.log_prob(q_new) - 0.5 * p_new.dot(p_new) - target.log_prob(q) + 0.5 * p.dot(p)
        if torch.log(torch.rand(())) < log_ratio:
            q, accepted = q_new, accepted + 1
        samples.append(q)
    samples = torch.stack(samples)
    return [samples, accepted, torch.cov(samples.T), torch.corrcoef(samples.T)]


def gaussian_process(torch):
    """An RBF kernel by cdist, the marginal likelihood through Cholesky, the posterior by triangular solves."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(7)
    x, xs = torch.linspace(0, 1, 12).unsqueeze(1), torch.tensor([[0.05], [0.5], [1.2]])
    y = torch.sin(6 * x).squeeze() + 0.1 * torch.randn(12)
    raw = torch.zeros(3, requires_grad=True)
    opt, losses = torch.optim.Adam([raw], lr=0.1), []

    def kernel(a, b, length, amp):
        return amp ** 2 * torch.exp(-0.5 * torch.cdist(a, b) ** 2 / length ** 2)
    for _ in range(6):
        length, amp, noise = torch.nn.functional.softplus(raw)
        K = kernel(x, x, length, amp) + (noise ** 2 + 1e-6) * torch.eye(12)
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y.unsqueeze(1), L)
        loss = 0.5 * y @ alpha.squeeze() + L.diagonal().log().sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    with torch.no_grad():
        Ks = kernel(x, xs, length, amp)
        v = torch.linalg.solve_triangular(L, Ks, upper=False)
        return [losses, Ks.T @ alpha, amp ** 2 - v.pow(2).sum(0), torch.distributions.MultivariateNormal(torch.zeros(12), scale_tril=L).log_prob(y)]


def expectation_maximisation(torch):
    """Two coins and a mixture of Gaussians by EM; log_prob of Binomial and Poisson; k-means with scatter_add_."""
    D = torch.distributions
    torch.manual_seed(8)
    heads, theta = torch.tensor([5.0, 9.0, 8.0, 4.0, 7.0]), torch.tensor([0.6, 0.5])
    for _ in range(5):
        log_lik = D.Binomial(10, theta).log_prob(heads[:, None])
        r = torch.softmax(log_lik, 1)
        theta = (r * heads[:, None]).sum(0) / (r * 10).sum(0)
    x, centers = torch.randn(40, 2) + torch.tensor([[2.0, 0.0], [-2.0, 0.0]]).repeat(20, 1), torch.tensor([[1.0, 1.0], [-1.0, 0.5]])
    for _ in range(4):
        assign = torch.cdist(x, centers).argmin(1)
        sums = torch.zeros_like(centers).scatter_add_(0, assign[:, None].expand(-1, 2), x)
        centers = sums / torch.bincount(assign, minlength=2)[:, None]
    return [theta, log_lik, centers, D.Poisson(torch.tensor([1.0, 4.0])).log_prob(torch.tensor([0.0, 3.0]))]


def families(torch):
    """Samples, log probability, mean and entropy of a dozen families; cdf and icdf undo each other.

    The two libraries draw gamma variables differently, so families made of them give their statistics only, last.
    """
    D = torch.distributions
    torch.manual_seed(9)
    out = []
    for d in (D.Normal(0.0, 2.0), D.Laplace(1.0, 0.5), D.Exponential(2.0), D.Uniform(-1.0, 2.0), D.LogNormal(0.0, 0.5),
              D.Gumbel(0.0, 1.0), D.HalfNormal(1.5), D.Weibull(2.0, 1.5), D.Bernoulli(0.3), D.Categorical(torch.ones(4)), D.Geometric(0.4)):
        x = d.sample((3,))
        out += [x, d.log_prob(x), d.entropy()]
    for d in (D.Normal(0.0, 2.0), D.Laplace(1.0, 0.5), D.Exponential(2.0), D.Uniform(-1.0, 2.0)):
        out.append(d.icdf(d.cdf(torch.tensor([0.1, 0.7]))))
    z = D.OneHotCategorical(torch.tensor([0.1, 0.9])).sample((4,))
    out += [z, D.Multinomial(5, torch.tensor([0.3, 0.7])).sample(), D.Normal(torch.zeros(2), 1.0).expand((3, 2)).batch_shape[0]]
    for d in (D.Gamma(2.0, 3.0), D.Beta(2.0, 5.0), D.StudentT(5.0), D.Chi2(3.0), D.Dirichlet(torch.tensor([1.0, 2.0, 3.0]))):
        close = (d.sample((2000,)).mean(0) - d.mean).abs().max() < 0.25
        out += [close, d.mean, d.variance, d.entropy(), d.log_prob(torch.tensor([0.2, 0.3, 0.5]))]
    return out
