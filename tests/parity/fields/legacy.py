"""Programs in the manner of PyTorch 0.1 to 0.4, as far as they still run: Variable, typed tensors, names without underscore."""

# ruff: noqa: RUF059


def variables(torch):
    """Variable, .data, .grad.data, a network of two layers by hand."""
    Variable = torch.autograd.Variable
    torch.manual_seed(1)
    dtype = torch.FloatTensor
    x = Variable(torch.randn(8, 6).type(dtype), requires_grad=False)
    y = Variable(torch.randn(8, 2).type(dtype), requires_grad=False)
    w1 = Variable(torch.randn(6, 5).type(dtype), requires_grad=True)
    w2 = Variable(torch.randn(5, 2).type(dtype), requires_grad=True)
    losses = []
    for _ in range(5):
        y_pred = x.mm(w1).clamp(min=0).mm(w2)
        loss = (y_pred - y).pow(2).sum()
        losses.append(loss.data.item())
        loss.backward()
        w1.data -= 1e-3 * w1.grad.data
        w2.data -= 1e-3 * w2.grad.data
        w1.grad.data.zero_()
        w2.grad.data.zero_()
    return losses


def tensor_manual(torch):
    """Numpy-like two-layer network with the gradients by hand and typed constructors."""
    torch.manual_seed(2)
    x, y = torch.randn(6, 5), torch.randn(6, 2)
    w1, w2 = torch.FloatTensor(5, 4).normal_(), torch.FloatTensor(4, 2).normal_()
    for _ in range(4):
        h = x.mm(w1)
        h_relu = h.clamp(min=0)
        y_pred = h_relu.mm(w2)
        grad_y_pred = 2.0 * (y_pred - y)
        grad_w2 = h_relu.t().mm(grad_y_pred)
        grad_h = grad_y_pred.mm(w2.t()).clone()
        grad_h[h < 0] = 0
        w1.sub_(x.t().mm(grad_h) * 1e-3)
        w2.add_(grad_w2.mul(-1e-3))
    return [torch.pow(y_pred - y, 2).sum(), w1.size(0), w1.norm(), torch.dist(w1, torch.zeros(5, 4), 2)]


def old_initialisers(torch):
    """nn.init.xavier_uniform and the others without an underscore, apply with class names."""
    nn, init = torch.nn, torch.nn.init
    torch.manual_seed(3)

    def weights_init(m):
        classname = m.__class__.__name__
        if classname.find("Linear") != -1:
            init.xavier_uniform(m.weight.data, gain=init.calculate_gain("tanh"))
            init.constant(m.bias.data, 0.1)
        if classname.find("Conv") != -1:
            init.kaiming_normal(m.weight.data)
            init.normal(m.bias.data, std=0.01)
    net = nn.Sequential(nn.Conv1d(2, 3, 3), nn.Tanh(), nn.Linear(6, 4)).apply(weights_init)
    rest = [init.uniform(torch.Tensor(3), -1, 1), init.orthogonal(torch.Tensor(3, 3)), init.xavier_normal(torch.Tensor(2, 5)),
            init.kaiming_uniform(torch.Tensor(2, 4)), init.eye(torch.Tensor(2, 3)), init.dirac(torch.Tensor(2, 2, 3)),
            init.sparse(torch.Tensor(6, 4), sparsity=0.5).norm()]
    return [[p.sum() for p in net.parameters()], rest]


def functional_with_tanh(torch):
    """F.tanh, F.sigmoid, softmax without dim, size_average, reduce, NLLLoss of a log_softmax."""
    F, Variable = torch.nn.functional, torch.autograd.Variable
    torch.manual_seed(4)
    x = Variable(torch.randn(4, 5), requires_grad=True)
    target = Variable(torch.LongTensor([1, 0, 4, 2]))
    a = F.nll_loss(F.log_softmax(F.tanh(x)), target, size_average=False)
    b = F.mse_loss(F.sigmoid(x), Variable(torch.zeros(4, 5)), reduce=False).sum()
    c = torch.nn.CrossEntropyLoss(size_average=True)(x, target) + F.softmax(x)[:, 0].sum() + F.softmin(x).max()
    (a + b + c).backward()
    return [a.data, b, c, x.grad.data, F.upsample(torch.arange(4.0).view(1, 1, 2, 2), scale_factor=2)]


def char_rnn(torch):
    """i2h and i2o on concatenated tensors, init_hidden, topk for the category, lineToTensor."""
    nn, Variable = torch.nn, torch.autograd.Variable
    torch.manual_seed(5)
    letters = "abcdefg"

    def lineToTensor(line):
        tensor = torch.zeros(len(line), 1, len(letters))
        for li, letter in enumerate(line):
            tensor[li][0][letters.find(letter)] = 1
        return tensor

    class RNN(nn.Module):
        def __init__(self, input_size, hidden_size, output_size):
            super(RNN, self).__init__()  # noqa: UP008
            self.hidden_size = hidden_size
            self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
            self.i2o = nn.Linear(input_size + hidden_size, output_size)
            self.softmax = nn.LogSoftmax(dim=1)

        def forward(self, input, hidden):
            combined = torch.cat((input, hidden), 1)
            return self.softmax(self.i2o(combined)), self.i2h(combined)

        def initHidden(self):
            return Variable(torch.zeros(1, self.hidden_size))
    rnn, criterion, out = RNN(7, 6, 3), nn.NLLLoss(), []
    for line, category in (("abc", 0), ("gfe", 1), ("dad", 2)) * 3:
        hidden = rnn.initHidden()
        rnn.zero_grad()
        line_tensor = Variable(lineToTensor(line))
        for i in range(line_tensor.size()[0]):
            output, hidden = rnn(line_tensor[i], hidden)
        loss = criterion(output, Variable(torch.LongTensor([category])))
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-0.05)
        top_n, top_i = output.data.topk(1)
        out += [loss.item(), top_i[0][0].item()]
    return out


def typed_conversions(torch):
    """type() with strings and classes, byte masks, new(), tolist, LongTensor by index, cpu().numpy()."""
    a = torch.FloatTensor([[1.7, -2.2], [3.5, 0.1]])
    b, c = a.type(torch.LongTensor), a.type("torch.DoubleTensor")
    mask = a.gt(0)
    new = a.new(2, 2).fill_(3)
    i = torch.IntTensor([0, 1])
    return [b, c.sum(), a.masked_select(mask), mask.type(torch.ByteTensor).sum(), new, a.index_select(0, i.long()), a.long().tolist(),
            a.double().type_as(a).cpu().numpy().sum(), torch.Tensor([1, 2]).int(), torch.LongTensor(range(3)), a.is_cuda,
            isinstance(a, torch.FloatTensor), torch.is_tensor(a), a.view(-1).dim(), a.nelement(), a.t().contiguous().view(4)]


def volatile_loop(torch):
    """A train and a test loop that used volatile: set_grad_enabled now; legacy hooks; grad accumulated in .data."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(6)
    model = nn.Sequential()
    model.add_module("fc1", nn.Linear(4, 6))
    model.add_module("relu", nn.ReLU(inplace=True))
    model.add_module("fc2", nn.Linear(6, 2))
    optimizer, out = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5), []
    data, target = torch.randn(10, 4), torch.LongTensor(10).random_(0, 2)
    for phase in ("train", "val", "train", "val"):
        model.train(phase == "train")
        with torch.set_grad_enabled(phase == "train"):
            outputs = model(data)
            _, preds = torch.max(outputs.data, 1)
            loss = F.cross_entropy(outputs, target)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        out += [loss.item(), torch.sum(preds == target.data).item() / 10.0, loss.requires_grad]
    return out


def old_linear_algebra(torch):
    """addmm with keywords, baddbmm, ger, bmm, chunk, gather, scatter_, masked_fill_, comparison methods, cross."""
    torch.manual_seed(7)
    M, a, b = torch.randn(3, 3), torch.randn(3, 2), torch.randn(2, 3)
    batch = torch.randn(2, 3, 3)
    idx = torch.LongTensor([[0, 2, 1]])
    return [torch.addmm(M, a, b, beta=0.5, alpha=2.0), torch.ger(a[:, 0], b[0]), torch.baddbmm(batch, batch, batch),
            torch.addcmul(M, M, M, value=0.1), torch.addr(M, a[:, 0], b[1]), [t.sum() for t in batch.chunk(3, 1)], M.gather(0, idx),
            torch.zeros(3, 3).scatter_(0, idx, 5.0), M.masked_fill(M.lt(0), 0), torch.cross(M[0], M[1], dim=0), M.topk(2)[0],
            torch.kthvalue(M, 2, 1)[0], M.renorm(2, 0, 0.5), M.cumprod(1), M.tril().sum(), torch.std(M, 0), M.lerp(M.t(), 0.3),
            M.fmod(1), M.frac(), M.unfold(0, 2, 1), M.sort(1, descending=True)[1], torch.svd(M)[1]]


def styled_function(torch):
    """A Function with static methods and save_for_backward, saved_tensors (once saved_variables), gradcheck with tuples."""
    Function, Variable = torch.autograd.Function, torch.autograd.Variable
    torch.manual_seed(8)

    class LinearFunction(Function):
        @staticmethod
        def forward(ctx, input, weight, bias=None):
            ctx.save_for_backward(input, weight, bias)
            output = input.mm(weight.t())
            if bias is not None:
                output += bias.unsqueeze(0).expand_as(output)
            return output

        @staticmethod
        def backward(ctx, grad_output):
            input, weight, bias = ctx.saved_tensors
            grad_input = grad_weight = grad_bias = None
            if ctx.needs_input_grad[0]:
                grad_input = grad_output.mm(weight)
            if ctx.needs_input_grad[1]:
                grad_weight = grad_output.t().mm(input)
            if bias is not None and ctx.needs_input_grad[2]:
                grad_bias = grad_output.sum(0).squeeze(0)
            return grad_input, grad_weight, grad_bias
    linear = LinearFunction.apply
    input = (Variable(torch.randn(4, 3).double(), requires_grad=True), Variable(torch.randn(2, 3).double(), requires_grad=True))
    test = torch.autograd.gradcheck(linear, input, eps=1e-6, atol=1e-4)
    bias = Variable(torch.zeros(2).double(), requires_grad=True)
    linear(*input, bias).sum().backward()
    return [test, input[0].grad.data, input[1].grad.data, bias.grad]


def nn_classes_of_old(torch):
    """Bilinear, Embedding.from_pretrained, UpsamplingNearest2d, Dropout2d, PairwiseDistance, CosineEmbeddingLoss, Softmax2d."""
    nn, Variable = torch.nn, torch.autograd.Variable
    torch.manual_seed(9)
    x, y = Variable(torch.randn(4, 3)), Variable(torch.randn(4, 3))
    img = Variable(torch.randn(1, 2, 3, 3))
    margin = nn.MarginRankingLoss(margin=0.5)(x[:, 0], y[:, 0], Variable(torch.Tensor([1, -1, 1, 1])))
    triplet = nn.TripletMarginLoss(margin=1.0, p=2)(x, y, y.flip(0))
    pool, indices = nn.MaxPool2d(2, stride=1, return_indices=True)(img)
    return [nn.Bilinear(3, 3, 2)(x, y), nn.UpsamplingNearest2d(scale_factor=2)(img).sum(), nn.Dropout2d(0.5)(img), margin, triplet,
            nn.PairwiseDistance(p=1)(x, y), nn.CosineEmbeddingLoss()(x, y, Variable(torch.Tensor([1, 1, -1, -1]))),
            nn.Softmax2d()(img), pool, indices, nn.Embedding.from_pretrained(torch.eye(3))(Variable(torch.LongTensor([2, 0]))),
            nn.PReLU()(x), nn.MultiLabelMarginLoss()(x, Variable(torch.LongTensor([[0, -1, 1]] * 4))), nn.KLDivLoss()(x, y.exp()),
            nn.HingeEmbeddingLoss()(x, y.sign()), nn.LPPool2d(2, 2)(img.abs()), nn.RReLU().eval()(x), nn.LocalResponseNorm(2)(img)]
