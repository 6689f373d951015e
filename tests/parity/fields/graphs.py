"""Networks on graphs, with sparse adjacency matrices as their authors write them; word vectors and recommenders with sparse tables."""

import math

import numpy as np


def _graph(torch, n=10, density=0.3):
    """A symmetric adjacency matrix with loops."""
    A = (torch.rand(n, n) < density).float()
    return ((A + A.t() + torch.eye(n)) > 0).float()


def graph_convolution(torch):
    """A normalized adjacency from SciPy's form, torch.sparse.FloatTensor, spmm, two layers with a hand-written Parameter."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    np.random.seed(0)
    A = np.random.rand(12, 12) < 0.2
    A = A | A.T | np.eye(12, dtype=bool)
    rows, columns = A.nonzero()
    indices = torch.from_numpy(np.vstack((rows, columns)).astype(np.int64))
    values = torch.from_numpy((1 / A.sum(1)[rows]).astype(np.float32))
    adj = torch.sparse.FloatTensor(indices, values, torch.Size((12, 12)))

    class GraphConvolution(nn.modules.module.Module):
        def __init__(self, i, o):
            super().__init__()
            self.weight = nn.parameter.Parameter(torch.FloatTensor(i, o))
            self.bias = nn.parameter.Parameter(torch.FloatTensor(o))
            bound = 1 / math.sqrt(o)
            self.weight.data.uniform_(-bound, bound)
            self.bias.data.uniform_(-bound, bound)

        def forward(self, x, adj):
            return torch.spmm(adj, torch.mm(x, self.weight)) + self.bias
    first, second = GraphConvolution(5, 8), GraphConvolution(8, 3)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01, weight_decay=5e-4)
    x, y = torch.randn(12, 5), torch.randint(3, (12,))
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        out = F.log_softmax(second(F.dropout(F.relu(first(x, adj)), 0.5), adj), dim=1)
        loss = F.nll_loss(out[:6], y[:6])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, torch.sparse.mm(adj, x), torch.sparse.sum(adj, dim=1).to_dense()]


def sparse_attention(torch):
    """A Function of the edge values of a sparse matrix, with needs_input_grad, for attention on the edges."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(1)

    class Spmm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, indices, values, shape, b):
            a = torch.sparse_coo_tensor(indices, values, shape)
            ctx.save_for_backward(a, b)
            ctx.N = shape[0]
            return torch.matmul(a, b)

        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            grad_values = grad_b = None
            if ctx.needs_input_grad[1]:
                edges = a._indices()[0, :] * ctx.N + a._indices()[1, :]
                grad_values = grad.matmul(b.t()).view(-1)[edges]
            if ctx.needs_input_grad[3]:
                grad_b = a.t().matmul(grad)
            return None, grad_values, None, grad_b
    adj, x, y = _graph(torch), torch.randn(10, 4), torch.randint(3, (10,))
    W = nn.init.xavier_normal_(nn.Parameter(torch.zeros(4, 3)).data, gain=1.414).requires_grad_()
    a = nn.init.xavier_normal_(nn.Parameter(torch.zeros(1, 6)).data, gain=1.414).requires_grad_()
    losses = []
    for _ in range(3):
        edges = adj.nonzero().t()
        h = torch.mm(x, W)
        pairs = torch.cat((h[edges[0, :], :], h[edges[1, :], :]), dim=1).t()
        weights = torch.exp(-F.leaky_relu(a.mm(pairs).squeeze(), 0.2))
        total = Spmm.apply(edges, weights, torch.Size([10, 10]), torch.ones(10, 1))
        out = F.elu(Spmm.apply(edges, weights, torch.Size([10, 10]), h).div(total))
        loss = F.nll_loss(F.log_softmax(out, 1), y)
        gW, ga = torch.autograd.grad(loss, [W, a])
        W.data -= 0.1 * gW
        a.data -= 0.1 * ga
        losses.append(loss.item())
    return [losses, W, a]


def edge_softmax(torch):
    """scatter_reduce with amax, index_add, scatter_add_ over an edge list: attention with several heads."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(2)
    edges = _graph(torch).nonzero(as_tuple=False).t().contiguous()
    source, target = edges
    z = nn.Linear(4, 6, bias=False)(torch.randn(10, 4)).view(10, 2, 3)
    a = nn.Parameter(torch.randn(2, 2, 3))
    score = F.leaky_relu((z * a[0]).sum(-1)[source] + (z * a[1]).sum(-1)[target], 0.2)
    top = torch.full((10, 2), -1e9).scatter_reduce(0, target[:, None].expand(-1, 2), score, reduce="amax")
    weight = (score - top[target]).exp()
    total = torch.zeros(10, 2).index_add(0, target, weight)
    alpha = weight / (total[target] + 1e-16)
    out = torch.zeros(10, 2, 3).scatter_add_(0, target.view(-1, 1, 1).expand(-1, 2, 3), z[source] * alpha.unsqueeze(-1))
    out.pow(2).sum().backward()
    degree = torch.zeros(10).scatter(0, target, 1.0, reduce="add")
    return [out, a.grad, degree, torch.bincount(target, minlength=10)]


def spectral(torch):
    """The normalized Laplacian with infinite entries set to 0, its eigenvectors, Chebyshev polynomials of it."""
    torch.manual_seed(3)
    A = _graph(torch) - torch.eye(10)
    A[0], A[:, 0] = 0, 0
    d = A.sum(1).pow(-0.5)
    d[d == float("inf")] = 0
    L = torch.eye(10) - d.view(-1, 1) * A * d.view(1, -1)
    values = torch.linalg.eigvalsh(L)
    T = [torch.eye(10), L - torch.eye(10)]
    for _ in range(2):
        T.append(2 * T[1] @ T[-1] - T[-2])
    signal = torch.stack(T) @ torch.arange(10.0)
    rows, columns = torch.where(A)
    return [values, signal, rows, columns, torch.triu(A, 1).nonzero().shape]


def compressed_rows(torch):
    """sparse_csr_tensor, to_sparse_csr and its parts, softmax of the entries, a mask, a product with itself."""
    torch.manual_seed(4)
    A = _graph(torch, 6) * torch.rand(6, 6)
    S = A.to_sparse_csr()
    again = torch.sparse_csr_tensor(S.crow_indices(), S.col_indices(), S.values(), size=(6, 6))
    coo = A.to_sparse().coalesce()
    soft = torch.sparse.softmax(coo, dim=1).to_dense()
    picked = torch.rand(6, 6).sparse_mask(coo).to_dense()
    return [again @ torch.ones(6, 1), coo.indices(), coo.values(), coo._nnz(), soft, picked, torch.sparse.mm(coo, coo).to_dense()]


def skip_gram(torch):
    """Word vectors with negative samples: Embedding(sparse=True), SparseAdam, multinomial draws, a clamped score."""
    nn, F, optim = torch.nn, torch.nn.functional, torch.optim
    torch.manual_seed(5)
    u, v = nn.Embedding(9, 4, sparse=True), nn.Embedding(9, 4, sparse=True)
    nn.init.uniform_(u.weight.data, -0.25, 0.25)
    nn.init.constant_(v.weight.data, 0)
    optimizer = optim.SparseAdam([*u.parameters(), *v.parameters()], lr=0.05)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    pairs = torch.randint(9, (24, 2))
    losses = []
    for k in range(0, 24, 8):
        batch = pairs[k:k + 8]
        negative = torch.multinomial(torch.arange(1.0, 10.0) ** 0.75, 24, replacement=True).view(8, 3)
        center = u(batch[:, 0])
        score = -F.logsigmoid(torch.clamp((center * v(batch[:, 1])).sum(1), max=10, min=-10))
        noise = torch.bmm(v(negative), center.unsqueeze(2)).squeeze()
        loss = torch.mean(score - F.logsigmoid(-torch.clamp(noise, max=10, min=-10)).sum(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return [losses, u.weight, v.weight]


def factorization_machine(torch):
    """Offsets of fields as a NumPy array, pairwise products by squares, a ranking loss, hits in the top k."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(6)
    offsets = np.array((0, *np.cumsum([5, 7])[:-1]), dtype=np.int64)
    table, linear, bias = nn.Embedding(12, 3), nn.Embedding(12, 1), nn.Parameter(torch.zeros((1,)))
    users, items = torch.randint(5, (20,)), torch.randint(7, (20,))
    target = torch.randint(2, (20,)).float()
    optimizer = torch.optim.Adagrad([*table.parameters(), *linear.parameters(), bias], lr=0.1, initial_accumulator_value=0.1)
    losses = []
    for _ in range(3):
        x = torch.stack([users, items], 1)
        x = x + x.new_tensor(offsets).unsqueeze(0)
        e = table(x)
        products = 0.5 * (e.sum(1) ** 2 - (e ** 2).sum(1)).sum(1, keepdim=True)
        loss = F.binary_cross_entropy(torch.sigmoid((linear(x).sum(1) + bias + products).squeeze(1)), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    R = torch.zeros(5, 7).index_put_((users, items), target)
    scores, order = (table.weight[:5] @ table.weight[5:].t()).topk(3, dim=1)
    return [losses, scores, R.gather(1, order).sum()]


def pooling_and_walks(torch):
    """Random walks by multinomial, readout by index_add_, a batch of graphs as one block diagonal matrix."""
    torch.manual_seed(7)
    A, B = _graph(torch, 4), _graph(torch, 5)
    walk = [0]
    for _ in range(5):
        walk.append(int(torch.multinomial(A[walk[-1]], 1)))
    both = torch.block_diag(A, B).to_sparse()
    graph = torch.tensor([0] * 4 + [1] * 5)
    x = torch.randn(9, 3, requires_grad=True)
    h = torch.relu(both @ x)
    read = torch.zeros(2, 3).index_add_(0, graph, h) / torch.bincount(graph).unsqueeze(1)
    read.sum().backward()
    return [walk, read, x.grad, torch.isin(graph, torch.tensor([1])).sum()]
