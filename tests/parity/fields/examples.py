"""Programs in the manner of the official examples: data loaders, a train and a test function, small generators of images."""


def mnist(torch):
    """A convolutional network with train() and test(), StepLR, nll_loss with reduction="sum"."""
    nn, F, optim = torch.nn, torch.nn.functional, torch.optim
    torch.manual_seed(1)

    class Net(nn.Module):
        def __init__(self):
            super(Net, self).__init__()  # noqa: UP008
            self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, 1), nn.Conv2d(4, 8, 3, 1)
            self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
            self.fc1, self.fc2 = nn.Linear(32, 16), nn.Linear(16, 10)

        def forward(self, x):
            x = F.relu(self.conv2(F.relu(self.conv1(x))))
            x = torch.flatten(self.dropout1(F.max_pool2d(x, 2)), 1)
            return F.log_softmax(self.fc2(self.dropout2(F.relu(self.fc1(x)))), dim=1)
    device = torch.device("cpu")
    data = torch.utils.data.TensorDataset(torch.randn(24, 1, 8, 8), torch.randint(0, 10, (24,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True, num_workers=0, pin_memory=False)
    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler, losses = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7), []
    for _ in range(2):
        model.train()
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        test_loss, correct = 0, 0
        with torch.no_grad():
            for data, target in loader:
                output = model(data)
                test_loss += F.nll_loss(output, target, reduction="sum").item()
                pred = output.argmax(dim=1, keepdim=True)
                correct += pred.eq(target.view_as(pred)).sum().item()
        scheduler.step()
        losses += [test_loss / len(loader.dataset), correct, scheduler.get_last_lr()[0]]
    return losses


def dcgan(torch):
    """Transposed convolutions, weights_init by class name, labels filled with real and fake."""
    nn = torch.nn
    torch.manual_seed(2)

    def weights_init(m):
        classname = m.__class__.__name__
        if classname.find("Conv") != -1:
            torch.nn.init.normal_(m.weight, 0.0, 0.02)
        elif classname.find("BatchNorm") != -1:
            torch.nn.init.normal_(m.weight, 1.0, 0.02)
            torch.nn.init.zeros_(m.bias)
    netG = nn.Sequential(nn.ConvTranspose2d(6, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
                         nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh())
    netD = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
                         nn.Conv2d(8, 1, 4, 1, 0, bias=False), nn.Sigmoid())
    netG.apply(weights_init)
    netD.apply(weights_init)
    criterion, fixed_noise, out = nn.BCELoss(), torch.randn(2, 6, 1, 1), []
    optimizerD = torch.optim.Adam(netD.parameters(), lr=0.0002, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=0.0002, betas=(0.5, 0.999))
    for _ in range(3):
        netD.zero_grad()
        real = torch.rand(4, 1, 8, 8) * 2 - 1
        label = torch.full((4,), 1, dtype=real.dtype, device=real.device)
        errD_real = criterion(netD(real).view(-1, 1).squeeze(1), label)
        errD_real.backward()
        fake = netG(torch.randn(4, 6, 1, 1))
        label.fill_(0)
        errD_fake = criterion(netD(fake.detach()).view(-1), label)
        errD_fake.backward()
        optimizerD.step()
        netG.zero_grad()
        label.fill_(1)
        errG = criterion(netD(fake).view(-1), label)
        errG.backward()
        optimizerG.step()
        out += [(errD_real + errD_fake).item(), errG.item()]
    return [out, netG(fixed_noise).detach().abs().mean()]


def vae(torch):
    """Reparameterization with randn_like; binary cross entropy and the KL divergence summed."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(3)

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(20, 12), nn.Linear(12, 3), nn.Linear(12, 3)
            self.fc3, self.fc4 = nn.Linear(3, 12), nn.Linear(12, 20)

        def encode(self, x):
            h1 = F.relu(self.fc1(x))
            return self.fc21(h1), self.fc22(h1)

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            return mu + torch.randn_like(std) * std

        def forward(self, x):
            mu, logvar = self.encode(x.view(-1, 20))
            return torch.sigmoid(self.fc4(F.relu(self.fc3(self.reparameterize(mu, logvar))))), mu, logvar
    model = VAE()
    optimizer, losses, x = torch.optim.Adam(model.parameters(), lr=1e-3), [], torch.rand(8, 1, 4, 5)
    for _ in range(6):
        optimizer.zero_grad()
        recon, mu, logvar = model(x)
        BCE = F.binary_cross_entropy(recon, x.view(-1, 20), reduction="sum")
        KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        (BCE + KLD).backward()
        losses.append((BCE + KLD).item())
        optimizer.step()
    return losses


def word_language_model(torch):
    """batchify, get_batch, repackage_hidden, tied weights, clipping, then sampling with a temperature."""
    nn = torch.nn
    torch.manual_seed(4)

    def batchify(data, bsz):
        nbatch = data.size(0) // bsz
        return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()

    def repackage_hidden(h):
        return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)
    ntoken, source = 12, batchify(torch.randint(0, 12, (50,)), 4)
    encoder, rnn, decoder, drop = nn.Embedding(ntoken, 8), nn.LSTM(8, 8, 2, dropout=0.2), nn.Linear(8, ntoken), nn.Dropout(0.2)
    decoder.weight = encoder.weight
    nn.init.uniform_(encoder.weight, -0.1, 0.1)
    params = list(encoder.parameters()) + list(rnn.parameters()) + [decoder.bias]
    weight = next(rnn.parameters())
    hidden, losses = (weight.new_zeros(2, 4, 8), weight.new_zeros(2, 4, 8)), []
    for i in range(0, source.size(0) - 1, 4):
        seq_len = min(4, len(source) - 1 - i)
        data, targets = source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)
        hidden = repackage_hidden(hidden)
        output, hidden = rnn(drop(encoder(data)), hidden)
        loss = nn.NLLLoss()(nn.functional.log_softmax(decoder(drop(output)).view(-1, ntoken), dim=1), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 0.25)
        for p in params:
            p.data.add_(p.grad, alpha=-5)
            p.grad = None
        losses.append(loss.item())
    rnn.eval()
    word, hidden, words = torch.randint(ntoken, (1, 1), dtype=torch.long), (torch.zeros(2, 1, 8), torch.zeros(2, 1, 8)), []
    with torch.no_grad():
        for _ in range(6):
            output, hidden = rnn(encoder(word), hidden)
            word_weights = decoder(output).squeeze().div(1.0).exp().cpu()
            word.fill_(torch.multinomial(word_weights, 1)[0])
            words.append(word.item())
    return [losses, words]


def super_resolution(torch):
    """PixelShuffle, orthogonal initialisation with a gain, PSNR."""
    nn, init = torch.nn, torch.nn.init
    torch.manual_seed(5)
    from math import log10

    class Net(nn.Module):
        def __init__(self, upscale_factor):
            super().__init__()
            self.relu = nn.ReLU()
            self.conv1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
            self.conv2 = nn.Conv2d(8, upscale_factor ** 2, (3, 3), (1, 1), (1, 1))
            self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
            init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
            init.orthogonal_(self.conv2.weight)

        def forward(self, x):
            return self.pixel_shuffle(self.conv2(self.relu(self.conv1(x))))
    model, criterion = Net(2), nn.MSELoss()
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.01), []
    target = torch.rand(2, 1, 12, 12)
    small = nn.functional.interpolate(target, scale_factor=0.5, mode="bilinear", align_corners=False)
    for _ in range(5):
        optimizer.zero_grad()
        loss = criterion(model(small), target)
        loss.backward()
        optimizer.step()
        losses += [loss.item(), 10 * log10(1 / loss.item())]
    return losses


def siamese(torch):
    """Two images through one network; a dataset of one's own gives pairs and labels."""
    nn = torch.nn
    torch.manual_seed(6)

    class Pairs(torch.utils.data.Dataset):
        def __init__(self, n):
            self.images, self.labels = torch.randn(n, 1, 6, 6), torch.arange(n) % 3

        def __len__(self):
            return len(self.images)

        def __getitem__(self, i):
            j = (i * 7 + 3) % len(self)
            return self.images[i], self.images[j], torch.tensor(self.labels[i] == self.labels[j], dtype=torch.float)
    branch = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 8))
    head = nn.Sequential(nn.Linear(16, 8), nn.ReLU(inplace=True), nn.Linear(8, 1), nn.Sigmoid())
    optimizer = torch.optim.Adadelta([*branch.parameters(), *head.parameters()], lr=1.0)
    criterion, losses = nn.BCELoss(), []
    for _ in range(2):
        for a, b, targets in torch.utils.data.DataLoader(Pairs(15), batch_size=4, shuffle=True, drop_last=True):
            optimizer.zero_grad()
            outputs = head(torch.cat((branch(a), branch(b)), 1)).squeeze()
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def polynomial_regression(torch):
    """A fourth degree polynomial fitted by smooth_l1_loss, parameters written through the iterator."""
    F = torch.nn.functional
    from itertools import count
    torch.manual_seed(7)
    W_target, b_target = torch.randn(4, 1) * 5, torch.randn(1) * 5

    def make_features(x):
        x = x.unsqueeze(1)
        return torch.cat([x ** i for i in range(1, 5)], 1)
    fc = torch.nn.Linear(W_target.size(0), 1)
    losses = []
    for batch_idx in count(1):
        x = make_features(torch.randn(32))
        y = x.mm(W_target) + b_target.item()
        fc.zero_grad()
        output = F.smooth_l1_loss(fc(x), y)
        loss = output.item()
        output.backward()
        for param in fc.parameters():
            param.data.add_(-0.1 * param.grad)
        losses.append(loss)
        if batch_idx == 20:
            break
    return [losses, fc.weight.view(-1), fc.bias]


def fast_neural_style(torch):
    """Instance norm, reflection padding, upsampling, Gram matrices as a loss."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(8)

    def gram_matrix(y):
        (b, ch, h, w) = y.size()
        features = y.view(b, ch, w * h)
        return features.bmm(features.transpose(1, 2)) / (ch * h * w)

    class ConvLayer(nn.Module):
        def __init__(self, cin, cout, k, stride):
            super().__init__()
            self.reflection_pad, self.conv2d = nn.ReflectionPad2d(k // 2), nn.Conv2d(cin, cout, k, stride)

        def forward(self, x):
            return self.conv2d(self.reflection_pad(x))
    net = nn.Sequential(ConvLayer(3, 4, 3, 2), nn.InstanceNorm2d(4, affine=True), nn.ReLU(), nn.Upsample(scale_factor=2),
                        ConvLayer(4, 3, 3, 1))
    x, style = torch.rand(2, 3, 8, 8), gram_matrix(torch.rand(1, 3, 8, 8))
    optimizer, losses = torch.optim.Adam(net.parameters(), 1e-2), []
    for _ in range(5):
        optimizer.zero_grad()
        y = net(x)
        loss = F.mse_loss(y, x) + 10 * F.mse_loss(gram_matrix(y), style.expand(2, -1, -1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def time_sequence_prediction(torch):
    """LSTMCell over a sine wave in double precision, trained by LBFGS with a closure."""
    nn = torch.nn
    torch.manual_seed(0)
    data = torch.sin(torch.arange(20, dtype=torch.float64)[None] / 3 + torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float64))

    class Sequence(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm1, self.lstm2, self.linear = nn.LSTMCell(1, 6), nn.LSTMCell(6, 6), nn.Linear(6, 1)

        def forward(self, input, future=0):
            outputs = []
            h, c, h2, c2 = (torch.zeros(input.size(0), 6, dtype=torch.double) for _ in range(4))
            for input_t in input.split(1, dim=1):
                h, c = self.lstm1(input_t, (h, c))
                h2, c2 = self.lstm2(h, (h2, c2))
                outputs += [self.linear(h2)]
            for _ in range(future):
                h, c = self.lstm1(outputs[-1], (h, c))
                h2, c2 = self.lstm2(h, (h2, c2))
                outputs += [self.linear(h2)]
            return torch.cat(outputs, dim=1)
    seq, criterion, losses = Sequence().double(), nn.MSELoss(), []
    optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(data[:, :-1]), data[:, 1:])
        losses.append(loss.item())
        loss.backward()
        return loss
    optimizer.step(closure)
    with torch.no_grad():
        return [losses, seq(data[:1, :-1], future=3)[:, -3:]]


def mixture_density_regression(torch):
    """A mixture of three Gaussians predicted by a network; logsumexp as the loss."""
    nn = torch.nn
    torch.manual_seed(9)
    y = torch.linspace(-1, 1, 30).unsqueeze(1)
    x = 2 * y + torch.sin(6 * y) + torch.randn_like(y) * 0.05
    hidden = nn.Sequential(nn.Linear(1, 12), nn.Tanh())
    pi, mu, sigma = nn.Linear(12, 3), nn.Linear(12, 3), nn.Linear(12, 3)
    net = nn.ModuleDict({"hidden": hidden, "pi": pi, "mu": mu, "sigma": sigma})
    optimizer, losses = torch.optim.RMSprop(net.parameters(), lr=0.01), []
    for _ in range(8):
        h = hidden(x)
        s = torch.nn.functional.softplus(sigma(h)) + 1e-3
        log_normal = -0.5 * ((y - mu(h)) / s) ** 2 - s.log() - 0.5 * torch.log(torch.tensor(2 * torch.pi))
        loss = -torch.logsumexp(torch.log_softmax(pi(h), 1) + log_normal, dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
