"""Programs in the manner of papers on generative adversarial networks: two networks, two optimizers."""


def _nets(torch, z=4, x=2):
    nn = torch.nn
    G = nn.Sequential(nn.Linear(z, 16), nn.LeakyReLU(0.2), nn.Linear(16, x))
    D = nn.Sequential(nn.Linear(x, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    return G, D


def _ring(torch, n):
    angle = 2 * torch.pi * torch.randint(0, 8, (n,)) / 8
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.02 * torch.randn(n, 2)


def vanilla(torch):
    """BCEWithLogits, labels of ones and zeros."""
    nn = torch.nn
    torch.manual_seed(1)
    G, D = _nets(torch)
    d_opt, g_opt = (torch.optim.Adam(m.parameters(), lr=2e-3, betas=(0.5, 0.999)) for m in (D, G))
    loss_fn, ones, zeros, out = nn.BCEWithLogitsLoss(), torch.ones(16, 1), torch.zeros(16, 1), []
    for _ in range(6):
        d_loss = loss_fn(D(_ring(torch, 16)), ones) + loss_fn(D(G(torch.randn(16, 4)).detach()), zeros)
        D.zero_grad()
        d_loss.backward()
        d_opt.step()
        g_loss = loss_fn(D(G(torch.randn(16, 4))), ones)
        G.zero_grad()
        g_loss.backward()
        g_opt.step()
        out += [d_loss.item(), g_loss.item()]
    return out


def wgan_clipping(torch):
    """RMSprop, several critic steps, weights clamped in place, gradients given as tensors of one and minus one."""
    torch.manual_seed(2)
    G, D = _nets(torch)
    optD, optG = torch.optim.RMSprop(D.parameters(), lr=5e-3), torch.optim.RMSprop(G.parameters(), lr=5e-3)
    one, out = torch.tensor(1.0), []
    mone = one * -1
    for _ in range(3):
        for p in D.parameters():
            p.requires_grad = True
        for _ in range(3):
            for p in D.parameters():
                p.data.clamp_(-0.1, 0.1)
            D.zero_grad()
            errD_real = D(_ring(torch, 16)).mean()
            errD_real.backward(one)
            with torch.no_grad():
                fake = G(torch.randn(16, 4))
            errD_fake = D(fake).mean()
            errD_fake.backward(mone)
            optD.step()
            out.append((errD_real - errD_fake).item())
        for p in D.parameters():
            p.requires_grad = False
        G.zero_grad()
        D(G(torch.randn(16, 4))).mean().backward(one)
        optG.step()
    return [out, [p.abs().sum() for p in G.parameters()]]


def wgan_gp(torch):
    """The gradient penalty: autograd.grad with create_graph on points between real and generated ones."""
    torch.manual_seed(3)
    G, D = _nets(torch)
    optD = torch.optim.Adam(D.parameters(), lr=1e-2, betas=(0.0, 0.9))

    def calc_gradient_penalty(real, fake):
        alpha = torch.rand(real.size(0), 1).expand(real.size())
        interpolates = (alpha * real + (1 - alpha) * fake).detach().requires_grad_(True)
        disc = D(interpolates)
        gradients = torch.autograd.grad(outputs=disc, inputs=interpolates, grad_outputs=torch.ones(disc.size()),
                                        create_graph=True, retain_graph=True, only_inputs=True)[0]
        return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * 10
    out = []
    for _ in range(5):
        real, fake = _ring(torch, 16), G(torch.randn(16, 4)).detach()
        gp = calc_gradient_penalty(real.data, fake.data)
        loss = D(fake).mean() - D(real).mean() + gp
        optD.zero_grad()
        loss.backward()
        optD.step()
        out += [loss.item(), gp.item()]
    return out


def spectral_normalisation(torch):
    """nn.utils.spectral_norm on each layer of the discriminator, hinge losses."""
    nn, F, spectral_norm = torch.nn, torch.nn.functional, torch.nn.utils.spectral_norm
    torch.manual_seed(4)
    G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    D = nn.Sequential(spectral_norm(nn.Linear(2, 16)), nn.LeakyReLU(0.1), spectral_norm(nn.Linear(16, 1)))
    d_opt, g_opt = (torch.optim.Adam(m.parameters(), lr=1e-2, betas=(0.0, 0.9)) for m in (D, G))
    out = []
    for _ in range(5):
        d_opt.zero_grad()
        d_loss = F.relu(1.0 - D(_ring(torch, 16))).mean() + F.relu(1.0 + D(G(torch.randn(16, 4)).detach())).mean()
        d_loss.backward()
        d_opt.step()
        g_opt.zero_grad()
        g_loss = -D(G(torch.randn(16, 4))).mean()
        g_loss.backward()
        g_opt.step()
        out += [d_loss.item(), g_loss.item()]
    return [out, D[0].weight_u, D[0].weight_orig.sum(), sorted(len(k) for k in D.state_dict())]


def conditional(torch):
    """Labels through an embedding, concatenated with the noise and with the image."""
    nn = torch.nn
    torch.manual_seed(5)

    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            self.label_emb = nn.Embedding(3, 3)

            def block(in_feat, out_feat, normalize=True):
                layers = [nn.Linear(in_feat, out_feat)]
                if normalize:
                    layers.append(nn.BatchNorm1d(out_feat, 0.8))
                layers.append(nn.LeakyReLU(0.2, inplace=True))
                return layers
            self.model = nn.Sequential(*block(7, 8, normalize=False), *block(8, 12), nn.Linear(12, 9), nn.Tanh())

        def forward(self, noise, labels):
            img = self.model(torch.cat((self.label_emb(labels), noise), -1))
            return img.view(img.size(0), *(1, 3, 3))
    generator, emb = Generator(), nn.Embedding(3, 3)
    D = nn.Sequential(nn.Linear(12, 8), nn.Dropout(0.4), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, 1))
    loss, out = nn.MSELoss(), []
    opt = torch.optim.Adam(list(generator.parameters()) + list(D.parameters()) + list(emb.parameters()), lr=2e-3)
    for _ in range(4):
        z, labels = torch.randn(6, 4), torch.LongTensor([0, 1, 2, 0, 1, 2])
        gen = generator(z, labels)
        validity = D(torch.cat((gen.view(gen.size(0), -1), emb(labels)), -1))
        l = loss(validity, torch.FloatTensor(6, 1).fill_(1.0))
        opt.zero_grad()
        l.backward()
        opt.step()
        out.append(l.item())
    return [out, generator(z, labels).mean(0)]


def info_gan(torch):
    """A categorical and a continuous code, recovered by a head of the discriminator; itertools.chain of parameters."""
    import itertools
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(6)
    G, body = nn.Sequential(nn.Linear(4 + 3 + 1, 16), nn.ReLU(), nn.Linear(16, 2)), nn.Sequential(nn.Linear(2, 16), nn.ReLU())
    q_disc, q_cont = nn.Linear(16, 3), nn.Linear(16, 1)
    opt = torch.optim.Adam(itertools.chain(G.parameters(), body.parameters(), q_disc.parameters(), q_cont.parameters()), lr=5e-3)
    out = []
    for _ in range(6):
        labels, cont = torch.randint(0, 3, (12,)), torch.empty(12, 1).uniform_(-1, 1)
        code = torch.zeros(12, 3).scatter_(1, labels.view(-1, 1), 1.0)
        h = body(G(torch.cat([torch.randn(12, 4), code, cont], 1)))
        info = F.cross_entropy(q_disc(h), labels) + 0.1 * F.mse_loss(q_cont(h), cont)
        opt.zero_grad()
        info.backward()
        opt.step()
        out.append(info.item())
    return out


def cycle_gan(torch):
    """Two generators, cycle and identity losses, LambdaLR with a linear decay, a buffer of images."""
    import itertools
    import random
    nn = torch.nn
    torch.manual_seed(7)

    class LambdaLR:
        def __init__(self, n_epochs, decay_start_epoch):
            self.n_epochs, self.decay_start_epoch = n_epochs, decay_start_epoch

        def step(self, epoch):
            return 1.0 - max(0, epoch - self.decay_start_epoch) / (self.n_epochs - self.decay_start_epoch)
    AB, BA, D = nn.Conv2d(1, 1, 3, 1, 1), nn.Conv2d(1, 1, 3, 1, 1), nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1), nn.InstanceNorm2d(4),
                                                                             nn.LeakyReLU(0.2), nn.Conv2d(4, 1, 4, padding=1))
    opt = torch.optim.Adam(itertools.chain(AB.parameters(), BA.parameters()), lr=2e-2, betas=(0.5, 0.999))
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=LambdaLR(6, 2).step)
    l1, mse, buffer, out = nn.L1Loss(), nn.MSELoss(), [], []
    for _ in range(5):
        a, b = torch.rand(2, 1, 8, 8), torch.rand(2, 1, 8, 8) - 0.5
        fake_b, fake_a = AB(a), BA(b)
        pred = D(fake_b)
        loss = mse(pred, torch.ones_like(pred)) + 10 * (l1(BA(fake_b), a) + l1(AB(fake_a), b)) + 5 * l1(AB(b), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        buffer.append(fake_b.data)
        out += [loss.item(), opt.param_groups[0]["lr"], random.choice(buffer).mean().item()]
    return out


def style_based(torch):
    """A mapping network, weights equalised at run time, adaptive instance norm, noise with a learned scale."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(8)

    class EqualLinear(nn.Module):
        def __init__(self, i, o, bias_init=0, lr_mul=0.01):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.randn(o, i).div_(lr_mul)), nn.Parameter(torch.zeros(o).fill_(bias_init))
            self.scale, self.lr_mul = (1 / i ** 0.5) * lr_mul, lr_mul

        def forward(self, x):
            return F.linear(x, self.weight * self.scale, bias=self.bias * self.lr_mul)
    mapping = nn.Sequential(EqualLinear(4, 8), nn.LeakyReLU(0.2), EqualLinear(8, 8))
    style, const = EqualLinear(8, 12, bias_init=1, lr_mul=1), nn.Parameter(torch.randn(1, 6, 4, 4))
    noise_weight = nn.Parameter(torch.zeros(1))
    z = torch.randn(3, 4)
    w = mapping(z * torch.rsqrt(torch.mean(z ** 2, dim=1, keepdim=True) + 1e-8))
    scale, shift = style(w).view(3, 2, 6, 1, 1).unbind(1)
    x = const.repeat(3, 1, 1, 1) + noise_weight * const.new_empty(3, 1, 4, 4).normal_()
    x = scale * F.instance_norm(x) + shift
    x = F.interpolate(F.leaky_relu(x, 0.2) * 2 ** 0.5, scale_factor=2, mode="nearest")
    (g,) = torch.autograd.grad((x * torch.randn_like(x)).sum(), [w], create_graph=True)
    path_length = g.pow(2).sum(1).mean().sqrt()
    path_length.backward()
    return [x.mean(), x.std(), g, path_length, style.weight.grad.norm(), mapping[0].weight.grad.abs().mean()]


def minibatch_discrimination(torch):
    """Pairwise L1 distances by broadcasting, label smoothing by uniform_, instance noise, eval for samples."""
    nn = torch.nn
    torch.manual_seed(9)
    T, G = nn.Parameter(torch.randn(2, 3, 2)), nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    head = nn.Sequential(nn.Linear(5, 1), nn.Sigmoid())
    opt, out = torch.optim.SGD([T, *head.parameters(), *G.parameters()], lr=0.1, momentum=0.5, nesterov=True), []
    for _ in range(4):
        x = G(torch.randn(6, 4))
        M = x.mm(T.view(2, -1)).view(-1, 3, 2)
        norm = torch.abs(M.unsqueeze(0) - M.unsqueeze(1)).sum(3)
        o_b = torch.exp(-norm).sum(0) - 1
        labels = torch.empty(6, 1).uniform_(0.7, 1.0)
        loss = nn.functional.binary_cross_entropy(head(torch.cat([x, o_b], 1)), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        out.append(loss.item())
    G.eval()
    with torch.no_grad():
        return [out, G(torch.randn(3, 4)), T.data.norm(p=1)]
