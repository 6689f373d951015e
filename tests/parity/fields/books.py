"""Programs in the manner of textbooks: models from scratch, then the same with modules, from regression to attention."""


def linear_regression_from_scratch(torch):
    """Synthetic data, an iterator of minibatches, sgd under no_grad."""
    import random

    def data_iter(batch_size, features, labels):
        indices = list(range(len(features)))
        random.shuffle(indices)
        for i in range(0, len(features), batch_size):
            batch = torch.tensor(indices[i: min(i + batch_size, len(features))])
            yield features[batch], labels[batch]
    true_w, true_b = torch.tensor([2, -3.4]), 4.2
    X = torch.normal(0, 1, (60, len(true_w)))
    y = torch.matmul(X, true_w) + true_b
    y = (y + torch.normal(0, 0.01, y.shape)).reshape((-1, 1))
    w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    losses = []
    for _ in range(3):
        for xb, yb in data_iter(10, X, y):
            l = (torch.matmul(xb, w) + b - yb.reshape((-1, 1))) ** 2 / 2
            l.sum().backward()
            with torch.no_grad():
                for param in [w, b]:
                    param -= 0.03 * param.grad / 10
                    param.grad.zero_()
        with torch.no_grad():
            losses.append(float(((torch.matmul(X, w) + b - y) ** 2 / 2).mean()))
    return [losses, w, b]


def linear_regression_concise(torch):
    """TensorDataset, DataLoader, nn.MSELoss and optim.SGD."""
    nn, data = torch.nn, torch.utils.data
    true_w = torch.tensor([2, -3.4])
    features = torch.randn(64, 2)
    labels = (features @ true_w + 4.2).reshape(-1, 1)
    dataset = data.TensorDataset(*(features, labels))
    net = nn.Sequential(nn.Linear(2, 1))
    net[0].weight.data.normal_(0, 0.01)
    net[0].bias.data.fill_(0)
    trainer = torch.optim.SGD(net.parameters(), lr=0.03)
    loss, history = nn.MSELoss(), []
    for _ in range(3):
        for X, y in data.DataLoader(dataset, 16, shuffle=True):
            l = loss(net(X), y)
            trainer.zero_grad()
            l.backward()
            trainer.step()
        history.append(loss(net(features), labels).item())
    return [history, net[0].weight.data, net[0].bias.data]


def softmax_regression_from_scratch(torch):
    """exp over its sum, cross entropy by indexing, accuracy by argmax."""
    torch.manual_seed(5)
    W, b = torch.normal(0, 0.01, size=(16, 3), requires_grad=True), torch.zeros(3, requires_grad=True)
    X, y = torch.rand(30, 1, 4, 4), torch.randint(0, 3, (30,))

    def softmax(X):
        X_exp = torch.exp(X)
        return X_exp / X_exp.sum(1, keepdim=True)

    def net(X):
        return softmax(torch.matmul(X.reshape((-1, W.shape[0])), W) + b)

    def cross_entropy(y_hat, y):
        return -torch.log(y_hat[range(len(y_hat)), y])

    def accuracy(y_hat, y):
        cmp = y_hat.argmax(axis=1).type(y.dtype) == y
        return float(cmp.type(y.dtype).sum())
    out = []
    for _ in range(5):
        l = cross_entropy(net(X), y)
        l.mean().backward()
        with torch.no_grad():
            for p in (W, b):
                p -= 0.5 * p.grad
                p.grad.zero_()
        out += [float(l.sum()), accuracy(net(X), y)]
    return out


def multilayer_perceptron(torch):
    """init_weights through apply, dropout by hand, weight decay for some parameters."""
    nn = torch.nn
    torch.manual_seed(6)

    def dropout_layer(X, dropout):
        mask = (torch.rand(X.shape) > dropout).float()
        return mask * X / (1.0 - dropout)

    def init_weights(m):
        if type(m) == nn.Linear:  # noqa: E721
            nn.init.normal_(m.weight, std=0.1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 4))
    net.apply(init_weights)
    trainer = torch.optim.SGD([{"params": net[1].weight, "weight_decay": 3e-3}, {"params": net[1].bias},
                               {"params": net[3].parameters()}], lr=0.1)
    X, y, loss = torch.rand(24, 1, 4, 4), torch.randint(0, 4, (24,)), nn.CrossEntropyLoss(reduction="none")
    losses = []
    for _ in range(6):
        trainer.zero_grad()
        l = loss(net[3](dropout_layer(net[2](net[1](net[0](X))), 0.2)), y)
        l.mean().backward()
        trainer.step()
        losses.append(l.sum().item())
    return [losses, torch.norm(net[1].weight).item()]


def lenet(torch):
    """The convolutional network of the textbook, initialised by Xavier, and the shape of each layer."""
    nn = torch.nn
    torch.manual_seed(7)
    net = nn.Sequential(
        nn.Conv2d(1, 6, kernel_size=5, padding=2), nn.Sigmoid(), nn.AvgPool2d(kernel_size=2, stride=2),
        nn.Conv2d(6, 16, kernel_size=5), nn.Sigmoid(), nn.AvgPool2d(kernel_size=2, stride=2), nn.Flatten(),
        nn.Linear(16 * 5 * 5, 120), nn.Sigmoid(), nn.Linear(120, 84), nn.Sigmoid(), nn.Linear(84, 10))

    def init_weights(m):
        if isinstance(m, (nn.Linear, nn.Conv2d)):
            nn.init.xavier_uniform_(m.weight)
    net.apply(init_weights)
    X, y, shapes = torch.rand(size=(8, 1, 28, 28), dtype=torch.float32), torch.arange(8), []
    out = X
    for layer in net:
        out = layer(out)
        shapes += list(out.shape)
    optimizer, losses = torch.optim.SGD(net.parameters(), lr=0.9), []
    for _ in range(3):
        optimizer.zero_grad()
        l = nn.CrossEntropyLoss()(net(X), y)
        l.backward()
        optimizer.step()
        losses.append(l)
    return [shapes, losses]


def residual_block(torch):
    """A residual network of two blocks, one with a 1x1 convolution, in training and evaluation mode."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(8)

    class Residual(nn.Module):
        def __init__(self, input_channels, num_channels, use_1x1conv=False, strides=1):
            super().__init__()
            self.conv1 = nn.Conv2d(input_channels, num_channels, kernel_size=3, padding=1, stride=strides)
            self.conv2 = nn.Conv2d(num_channels, num_channels, kernel_size=3, padding=1)
            self.conv3 = nn.Conv2d(input_channels, num_channels, kernel_size=1, stride=strides) if use_1x1conv else None
            self.bn1, self.bn2 = nn.BatchNorm2d(num_channels), nn.BatchNorm2d(num_channels)

        def forward(self, X):
            Y = F.relu(self.bn1(self.conv1(X)))
            Y = self.bn2(self.conv2(Y))
            if self.conv3:
                X = self.conv3(X)
            Y += X
            return F.relu(Y)
    net = nn.Sequential(Residual(3, 3), Residual(3, 6, use_1x1conv=True, strides=2), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(),
                        nn.Linear(6, 2))
    X, y = torch.rand(4, 3, 6, 6), torch.tensor([0, 1, 1, 0])
    opt, losses = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9), []
    for _ in range(4):
        l = F.cross_entropy(net(X), y)
        opt.zero_grad()
        l.backward()
        opt.step()
        losses.append(l.item())
    net.eval()
    return [losses, net(X), net[0].bn1.running_mean, net[0].bn1.num_batches_tracked]


def gru_from_scratch(torch):
    """Gates written as matrix products, gradient clipping by hand, perplexity."""
    F = torch.nn.functional
    torch.manual_seed(9)
    vocab, hidden = 7, 10

    def three():
        return (torch.randn(size=(vocab, hidden)) * 0.1, torch.randn(size=(hidden, hidden)) * 0.1, torch.zeros(hidden))
    params = [*three(), *three(), *three(), torch.randn(hidden, vocab) * 0.1, torch.zeros(vocab)]
    for param in params:
        param.requires_grad_(True)
    W_xz, W_hz, b_z, W_xr, W_hr, b_r, W_xh, W_hh, b_h, W_hq, b_q = params
    X = torch.randint(0, vocab, (4, 6))
    perplexity = []
    for _ in range(5):
        H, outputs = torch.zeros((4, hidden)), []
        for x in F.one_hot(X[:, :-1].T, vocab).type(torch.float32):
            Z = torch.sigmoid((x @ W_xz) + (H @ W_hz) + b_z)
            R = torch.sigmoid((x @ W_xr) + (H @ W_hr) + b_r)
            H_tilda = torch.tanh((x @ W_xh) + ((R * H) @ W_hh) + b_h)
            H = Z * H + (1 - Z) * H_tilda
            outputs.append(H @ W_hq + b_q)
        l = F.cross_entropy(torch.cat(outputs, dim=0), X[:, 1:].T.reshape(-1))
        l.backward()
        norm = torch.sqrt(sum(torch.sum(p.grad ** 2) for p in params))
        if norm > 0.5:
            for param in params:
                param.grad[:] *= 0.5 / norm
        with torch.no_grad():
            for p in params:
                p -= 1.0 * p.grad
                p.grad.zero_()
        perplexity.append(torch.exp(l).item())
    return perplexity


def lstm_concise(torch):
    """nn.LSTM with a linear output layer; the state is detached between minibatches."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(10)

    class RNNModel(nn.Module):
        def __init__(self, rnn_layer, vocab_size):
            super().__init__()
            self.rnn, self.vocab_size = rnn_layer, vocab_size
            self.num_hiddens = self.rnn.hidden_size
            self.linear = nn.Linear(self.num_hiddens * (2 if self.rnn.bidirectional else 1), vocab_size)

        def forward(self, inputs, state):
            X = F.one_hot(inputs.T.long(), self.vocab_size).to(torch.float32)
            Y, state = self.rnn(X, state)
            return self.linear(Y.reshape((-1, Y.shape[-1]))), state
    net = RNNModel(nn.LSTM(7, 8, num_layers=2), 7)
    state = (torch.zeros((2, 4, 8)), torch.zeros((2, 4, 8)))
    updater, losses = torch.optim.SGD(net.parameters(), 0.5), []
    for _ in range(5):
        X, Y = torch.randint(0, 7, (4, 5)), torch.randint(0, 7, (4, 5))
        for s in state:
            s.detach_()
        y_hat, state = net(X, state)
        l = F.cross_entropy(y_hat, Y.T.reshape(-1).long()).mean()
        updater.zero_grad()
        l.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1)
        updater.step()
        losses.append(l.item())
    return [losses, state[0].sum(), state[1].sum()]


def additive_attention(torch):
    """Masked softmax over valid lengths, additive scores with broadcasting."""
    nn = torch.nn
    torch.manual_seed(11)

    def masked_softmax(X, valid_lens):
        shape = X.shape
        lens = torch.repeat_interleave(valid_lens, shape[1])
        flat = X.reshape(-1, shape[-1])
        mask = torch.arange(shape[-1], dtype=torch.float32, device=X.device)[None, :] < lens[:, None]
        flat[~mask] = -1e6
        return nn.functional.softmax(flat.reshape(shape), dim=-1)

    class AdditiveAttention(nn.Module):
        def __init__(self, num_hiddens, dropout):
            super().__init__()
            self.W_k, self.W_q = nn.LazyLinear(num_hiddens, bias=False), nn.LazyLinear(num_hiddens, bias=False)
            self.w_v, self.dropout = nn.LazyLinear(1, bias=False), nn.Dropout(dropout)

        def forward(self, queries, keys, values, valid_lens):
            features = torch.tanh(self.W_q(queries).unsqueeze(2) + self.W_k(keys).unsqueeze(1))
            self.attention_weights = masked_softmax(self.w_v(features).squeeze(-1), valid_lens)
            return torch.bmm(self.dropout(self.attention_weights), values)
    queries, keys = torch.normal(0, 1, (2, 1, 20)), torch.normal(0, 1, (2, 10, 2))
    values = torch.arange(40, dtype=torch.float32).reshape(1, 10, 4).repeat(2, 1, 1)
    attention = AdditiveAttention(num_hiddens=8, dropout=0.1)
    out = attention(queries, keys, values, torch.tensor([2, 6]))
    out.sum().backward()
    return [out, attention.attention_weights, attention.W_q.weight.grad.abs().sum(), attention.w_v.weight.grad]


def positional_encoding(torch):
    """Sines and cosines, multi-head attention by reshaping, add and norm."""
    nn = torch.nn
    torch.manual_seed(12)
    P = torch.zeros((1, 10, 8))
    X = torch.arange(10, dtype=torch.float32).reshape(-1, 1) / torch.pow(10000, torch.arange(0, 8, 2, dtype=torch.float32) / 8)
    P[:, :, 0::2], P[:, :, 1::2] = torch.sin(X), torch.cos(X)
    Wq, Wk, Wv, Wo = (nn.Linear(8, 8, bias=False) for _ in range(4))

    def split(t):
        t = t.reshape(t.shape[0], t.shape[1], 2, -1).permute(0, 2, 1, 3)
        return t.reshape(-1, t.shape[2], t.shape[3])
    emb = nn.Embedding(20, 8)(torch.randint(20, (3, 10))) * 8 ** 0.5 + P
    q, k, v = split(Wq(emb)), split(Wk(emb)), split(Wv(emb))
    weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / 2, -1)
    heads = torch.bmm(weights, v).reshape(3, 2, 10, 4).permute(0, 2, 1, 3).reshape(3, 10, 8)
    out = nn.LayerNorm([10, 8])(nn.Dropout(0.5)(Wo(heads)) + emb)
    (out ** 2 * torch.linspace(0, 1, 8)).mean().backward()
    return [P.sum(), weights.std(), out, [W.weight.grad.norm() for W in (Wq, Wk, Wv, Wo)]]


def matrix_arithmetic(torch):
    """The preliminaries: shapes, concatenation, broadcasting, norms, writes in place keep the memory."""
    X = torch.arange(12, dtype=torch.float32).reshape(3, -1)
    Y = torch.tensor([[2.0, 1, 4, 3], [1, 2, 3, 4], [4, 3, 2, 1]])
    before = id(Y)
    Y += X
    Z = torch.zeros_like(Y)
    Z[:] = X + Y
    A = X.clone()
    A[1, 2], A[:2, :] = 17, 12
    u = torch.tensor([3.0, -4.0])
    return [torch.cat((X, Y), dim=0).sum(), torch.cat((X, Y), dim=1), X == Y, id(Y) == before, Z, A.numel(), A.cumsum(axis=0),
            A.mean(axis=[0, 1]), torch.norm(u), torch.abs(u).sum(), torch.mv(X, torch.ones(4)), torch.mm(X, Y.T), X.numpy().sum(),
            A / A.sum(axis=1, keepdim=True)]
