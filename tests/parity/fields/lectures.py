"""Programs in the manner of lectures: networks of a few neurons, backpropagation by hand, models of characters."""

# ruff: noqa: RUF007, RUF059


def one_neuron(torch):
    """A neuron of two inputs, and its gradients."""
    x1, x2 = torch.Tensor([2.0]).double(), torch.Tensor([0.0]).double()
    w1, w2 = torch.Tensor([-3.0]).double(), torch.Tensor([1.0]).double()
    b = torch.Tensor([6.8813735870195432]).double()
    for t in (x1, x2, w1, w2, b):
        t.requires_grad = True
    n = x1 * w1 + x2 * w2 + b
    o = torch.tanh(n)
    o.backward()
    return [o.data.item()] + [t.grad.item() for t in (x1, w1, x2, w2, b)]


def tiny_mlp(torch):
    """Four examples, two hidden layers, plain gradient descent written out."""
    g = torch.Generator().manual_seed(42)
    sizes = [3, 4, 4, 1]
    params = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        params += [torch.randn(n_in, n_out, generator=g), torch.randn(n_out, generator=g)]
    for p in params:
        p.requires_grad = True
    xs = torch.tensor([[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]])
    ys = torch.tensor([1.0, -1.0, -1.0, 1.0])
    losses = []
    for _ in range(20):
        h = xs
        for W, b in zip(params[0::2], params[1::2]):
            h = (h @ W + b).tanh()
        loss = ((h.squeeze(1) - ys) ** 2).sum()
        for p in params:
            p.grad = None
        loss.backward()
        for p in params:
            p.data += -0.05 * p.grad
        losses.append(loss.item())
    return losses


WORDS = ["anna", "olga", "bruno", "marek", "lena", "igor", "tomas", "nadia", "petra", "viktor", "eva", "jonas"]


def bigram_counts(torch):
    """Count pairs of characters, normalise rows, sample new words, report the average negative log likelihood."""
    chars = ["."] + sorted(set("".join(WORDS)))
    stoi = {c: i for i, c in enumerate(chars)}
    N = torch.zeros((len(chars), len(chars)), dtype=torch.int32)
    for w in WORDS:
        for a, b in zip("." + w, w + "."):
            N[stoi[a], stoi[b]] += 1
    P = (N + 1).float()
    P /= P.sum(1, keepdims=True)
    g = torch.Generator().manual_seed(2147483647)
    out, ix = [], 0
    for _ in range(40):
        ix = torch.multinomial(P[ix], num_samples=1, replacement=True, generator=g).item()
        out.append(ix)
    log_likelihood = sum(torch.log(P[stoi[a], stoi[b]]) for w in WORDS for a, b in zip("." + w, w + "."))
    return [out, -log_likelihood.item()]


def bigram_network(torch):
    """The same model as a layer of neurons on one-hot rows."""
    F = torch.nn.functional
    chars = ["."] + sorted(set("".join(WORDS)))
    stoi = {c: i for i, c in enumerate(chars)}
    pairs = [(stoi[a], stoi[b]) for w in WORDS for a, b in zip("." + w, w + ".")]
    xs, ys = torch.tensor([a for a, _ in pairs]), torch.tensor([b for _, b in pairs])
    W = torch.randn((len(chars), len(chars)), generator=torch.Generator().manual_seed(7), requires_grad=True)
    losses = []
    for _ in range(15):
        xenc = F.one_hot(xs, num_classes=len(chars)).float()
        logits = xenc @ W
        counts = logits.exp()
        probs = counts / counts.sum(1, keepdims=True)
        loss = -probs[torch.arange(xs.nelement()), ys].log().mean() + 0.01 * (W ** 2).mean()
        W.grad = None
        loss.backward()
        W.data += -10 * W.grad
        losses.append(loss.item())
    return losses


def _contexts(torch, block_size=3):
    chars = ["."] + sorted(set("".join(WORDS)))
    stoi = {c: i for i, c in enumerate(chars)}
    X, Y = [], []
    for w in WORDS:
        context = [0] * block_size
        for ch in w + ".":
            X.append(context)
            Y.append(stoi[ch])
            context = context[1:] + [stoi[ch]]
    return torch.tensor(X), torch.tensor(Y), len(chars)


def character_mlp(torch):
    """Embeddings of three characters, a tanh layer, minibatches drawn by randint, a learning rate that drops."""
    F = torch.nn.functional
    X, Y, V = _contexts(torch)
    g = torch.Generator().manual_seed(2147483647)
    C = torch.randn((V, 4), generator=g)
    W1, b1 = torch.randn((12, 20), generator=g) * 0.3, torch.randn(20, generator=g) * 0.01
    W2, b2 = torch.randn((20, V), generator=g) * 0.01, torch.zeros(V)
    parameters = [C, W1, b1, W2, b2]
    for p in parameters:
        p.requires_grad = True
    lossi = []
    for i in range(30):
        ix = torch.randint(0, X.shape[0], (16,), generator=g)
        emb = C[X[ix]]
        h = torch.tanh(emb.view(-1, 12) @ W1 + b1)
        loss = F.cross_entropy(h @ W2 + b2, Y[ix])
        for p in parameters:
            p.grad = None
        loss.backward()
        lr = 0.1 if i < 20 else 0.01
        for p in parameters:
            p.data += -lr * p.grad
        lossi.append(loss.log10().item())
    return lossi


def batchnorm_by_hand(torch):
    """Batch statistics with running averages, updated inside no_grad."""
    F = torch.nn.functional
    X, Y, V = _contexts(torch)
    g = torch.Generator().manual_seed(1)
    C, W1 = torch.randn((V, 4), generator=g), torch.randn((12, 16), generator=g) * (5 / 3) / 12 ** 0.5
    W2 = torch.randn((16, V), generator=g) * 0.01
    bngain, bnbias = torch.ones((1, 16)), torch.zeros((1, 16))
    bnmean_running, bnstd_running = torch.zeros((1, 16)), torch.ones((1, 16))
    params = [C, W1, W2, bngain, bnbias]
    for p in params:
        p.requires_grad_()
    for _ in range(10):
        ix = torch.randint(0, X.shape[0], (16,), generator=g)
        hpreact = C[X[ix]].view(16, -1) @ W1
        bnmeani, bnstdi = hpreact.mean(0, keepdim=True), hpreact.std(0, keepdim=True)
        h = torch.tanh(bngain * (hpreact - bnmeani) / bnstdi + bnbias)
        with torch.no_grad():
            bnmean_running = 0.9 * bnmean_running + 0.1 * bnmeani
            bnstd_running = 0.9 * bnstd_running + 0.1 * bnstdi
        loss = F.cross_entropy(h @ W2, Y[ix])
        for p in params:
            p.grad = None
        loss.backward()
        for p in params:
            p.data.add_(p.grad, alpha=-0.1)
    return [loss.item(), bnmean_running, bnstd_running, bngain.sum()]


def backprop_by_hand(torch):
    """The gradients of a softmax classifier with batch statistics, line by line, beside autograd's."""
    F = torch.nn.functional
    g = torch.Generator().manual_seed(3)
    n, x = 8, torch.randn(8, 5, generator=g)
    y = torch.randint(0, 4, (n,), generator=g)
    W, gain = torch.randn(5, 4, generator=g, requires_grad=True), torch.ones(1, 4, requires_grad=True)
    pre = x @ W
    meani = 1 / n * pre.sum(0, keepdim=True)
    diff = pre - meani
    var = 1 / (n - 1) * (diff ** 2).sum(0, keepdim=True)
    inv = (var + 1e-5) ** -0.5
    raw = diff * inv
    logits = gain * raw
    for t in (logits, raw, inv, var, diff, pre):
        t.retain_grad()
    loss = F.cross_entropy(logits, y)
    loss.backward()
    dlogits = F.softmax(logits, 1)
    dlogits[range(n), y] -= 1
    dlogits /= n
    draw = gain * dlogits
    dpre = gain * inv / n * (n * dlogits - dlogits.sum(0) - n / (n - 1) * raw * (dlogits * raw).sum(0))
    dW = x.T @ dpre
    agree = [torch.allclose(a, b, atol=1e-4) for a, b in ((dlogits, logits.grad), (draw, raw.grad), (dpre, pre.grad), (dW, W.grad))]
    return [loss.item(), agree, dW, (dlogits * raw).sum(0)]


def layers_as_classes(torch):
    """Linear, BatchNorm1d and Tanh as plain Python classes with parameters()."""
    F = torch.nn.functional
    g = torch.Generator().manual_seed(11)

    class Linear:
        def __init__(self, fan_in, fan_out):
            self.weight = torch.randn((fan_in, fan_out), generator=g) / fan_in ** 0.5

        def __call__(self, x):
            self.out = x @ self.weight
            return self.out

        def parameters(self):
            return [self.weight]

    class Tanh:
        def __call__(self, x):
            self.out = torch.tanh(x)
            return self.out

        def parameters(self):
            return []
    layers = [Linear(6, 10), Tanh(), Linear(10, 10), Tanh(), Linear(10, 3)]
    parameters = [p for layer in layers for p in layer.parameters()]
    for p in parameters:
        p.requires_grad = True
    x, y, ud = torch.randn(20, 6, generator=g), torch.randint(3, (20,), generator=g), []
    for _ in range(12):
        h = x
        for layer in layers:
            h = layer(h)
        for layer in layers:
            layer.out.retain_grad()
        loss = F.cross_entropy(h, y)
        for p in parameters:
            p.grad = None
        loss.backward()
        for p in parameters:
            p.data += -0.1 * p.grad
        with torch.no_grad():
            ud.append([((0.1 * p.grad).std() / p.data.std()).log10().item() for p in parameters])
    saturated = [(layer.out.abs() > 0.9).float().mean() * 100 for layer in layers if isinstance(layer, Tanh)]
    return [loss, ud, saturated, layers[1].out.grad.std()]


def wavenet_of_characters(torch):
    """FlattenConsecutive: pairs of neighbours are joined level by level."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(42)

    class FlattenConsecutive(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n

        def forward(self, x):
            B, T, C = x.shape
            x = x.view(B, T // self.n, C * self.n)
            return x.squeeze(1) if x.shape[1] == 1 else x
    X, Y, V = _contexts(torch, 4)
    model = nn.Sequential(nn.Embedding(V, 6), FlattenConsecutive(2), nn.Linear(12, 16, bias=False), nn.Tanh(),
                          FlattenConsecutive(2), nn.Linear(32, 16, bias=False), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, V))
    with torch.no_grad():
        model[-1].weight *= 0.1
    losses = []
    for _ in range(10):
        ix = torch.randint(0, X.shape[0], (16,))
        loss = F.cross_entropy(model(X[ix]), Y[ix])
        model.zero_grad(set_to_none=True)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
        losses.append(loss.item())
    model.eval()
    return [losses, F.cross_entropy(model(X), Y), sum(p.nelement() for p in model.parameters())]


def character_transformer(torch):
    """A block of causal self-attention with tril, generation by multinomial."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(1337)
    text = " ".join(WORDS)
    chars = sorted(set(text))
    data = torch.tensor([chars.index(c) for c in text], dtype=torch.long)

    class Head(nn.Module):
        def __init__(self, n_embd, head_size, block_size):
            super().__init__()
            self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
            self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

        def forward(self, x):
            B, T, C = x.shape
            wei = self.query(x) @ self.key(x).transpose(-2, -1) * C ** -0.5
            wei = F.softmax(wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")), dim=-1)
            return wei @ self.value(x)
    tok, pos, head, ln = nn.Embedding(len(chars), 16), nn.Embedding(8, 16), Head(16, 16, 8), nn.LayerNorm(16)
    lm = nn.Linear(16, len(chars))
    modules = nn.ModuleList([tok, pos, head, ln, lm])
    optimizer = torch.optim.AdamW(modules.parameters(), lr=1e-2)

    def logits(idx):
        x = tok(idx) + pos(torch.arange(idx.shape[1]))
        return lm(ln(x + head(x)))
    losses = []
    for _ in range(12):
        ix = torch.randint(len(data) - 8, (4,))
        x, y = torch.stack([data[i:i + 8] for i in ix]), torch.stack([data[i + 1:i + 9] for i in ix])
        B, T, C = logits(x).shape
        loss = F.cross_entropy(logits(x).view(B * T, C), y.view(B * T))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    idx = torch.zeros((1, 1), dtype=torch.long)
    for _ in range(15):
        probs = F.softmax(logits(idx[:, -8:])[:, -1, :], dim=-1)
        idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
    return [losses, idx[0].tolist()]
