"""Programs in the manner of interpretability: gradients of inputs, hooks on modules, patched activations, probes."""


def _cnn(torch):
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, padding=1), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 3))


def saliency(torch):
    """The gradient of the best class with respect to the image; smoothed over noisy copies."""
    torch.manual_seed(0)
    model, x = _cnn(torch).eval(), torch.rand(1, 1, 8, 8)
    x.requires_grad_()
    scores = model(x)
    score_max_index = scores.argmax()
    scores[0, score_max_index].backward()
    saliency, _ = torch.max(x.grad.data.abs(), dim=1)
    smooth = torch.zeros_like(x)
    for _ in range(4):
        noisy = (x + 0.1 * torch.randn_like(x)).detach().requires_grad_()
        smooth += torch.autograd.grad(model(noisy)[0, score_max_index], noisy)[0] / 4
    return [score_max_index, saliency, smooth.sum(), (x.grad * x).abs().sum()]


def integrated_gradients(torch):
    """A path from the baseline to the input; completeness holds up to the number of steps."""
    nn = torch.nn
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))

    def attribute(inputs, baselines, target, n_steps=20):
        alphas = torch.linspace(0, 1, n_steps + 1)[1:] - 0.5 / n_steps
        scaled = baselines + alphas.view(-1, 1, 1) * (inputs - baselines)
        scaled.requires_grad_()
        out = model(scaled.flatten(0, 1)).view(n_steps, -1, 3)[..., target].sum()
        grads = torch.autograd.grad(out, scaled)[0]
        return grads.mean(0) * (inputs - baselines)
    x, base = torch.randn(2, 5), torch.zeros(2, 5)
    attr = attribute(x, base, 1)
    delta = attr.sum(1) - (model(x) - model(base))[:, 1]
    return [attr, delta.abs() < 1e-2]


def grad_cam(torch):
    """A forward hook keeps the activation, a tensor hook its gradient; the map is resized and normalised."""
    F = torch.nn.functional
    torch.manual_seed(2)
    model, kept = _cnn(torch).eval(), {}

    def forward_hook(module, input, output):
        kept["activations"] = output
        output.register_hook(lambda grad: kept.__setitem__("gradients", grad))
    handle = model[3].register_forward_hook(forward_hook)
    image = torch.rand(1, 1, 8, 8)
    logits = model(image)
    model.zero_grad()
    one_hot = torch.zeros((1, logits.size()[-1])).scatter_(1, torch.tensor([[1]]), 1.0)
    logits.backward(gradient=one_hot)
    handle.remove()
    weights = torch.mean(kept["gradients"], dim=[2, 3], keepdim=True)
    cam = F.relu((weights * kept["activations"]).sum(dim=1, keepdim=True))
    cam = F.interpolate(cam, size=image.shape[2:], mode="bilinear", align_corners=False)
    cam = (cam - cam.min()) / (cam.max() - cam.min() + 1e-8)
    return [cam.detach(), weights, len(model[3]._forward_hooks)]


def guided_backprop(torch):
    """Full backward hooks on every ReLU change the gradient that flows back."""
    nn = torch.nn
    torch.manual_seed(3)
    model, handles = _cnn(torch), []

    def relu_backward_hook(module, grad_in, grad_out):
        return (torch.clamp(grad_in[0], min=0.0),)
    for module in model.modules():
        if isinstance(module, nn.ReLU):
            handles.append(module.register_full_backward_hook(relu_backward_hook))
    x = torch.rand(2, 1, 8, 8, requires_grad=True)
    model(x)[:, 0].sum().backward()
    guided, x.grad = x.grad.clone(), None
    for handle in handles:
        handle.remove()
    model(x)[:, 0].sum().backward()
    return [guided, x.grad, (guided - x.grad).abs().sum()]


class _Cache(dict):
    """A dictionary of activations, filled by hooks."""


def activation_patching(torch):
    """A clean run is cached; a corrupted run has one activation at a time replaced by a hook that returns a tensor."""
    from functools import partial
    nn = torch.nn
    torch.manual_seed(4)
    model = nn.ModuleDict({"embed": nn.Embedding(7, 8), "mlp0": nn.Linear(8, 8), "mlp1": nn.Linear(8, 8), "unembed": nn.Linear(8, 7)})

    def run(tokens):
        x = model["embed"](tokens)
        for name in ("mlp0", "mlp1"):
            x = x + torch.relu(model[name](x))
        return model["unembed"](x)[:, -1]
    cache, clean, corrupted = _Cache(), torch.tensor([[1, 2, 3]]), torch.tensor([[1, 2, 5]])

    def save(name, module, args, output):
        cache[name] = output.detach()

    def patch(name, module, args, output):
        output = output.clone()
        output[:, -1, :] = cache[name][:, -1, :]
        return output
    handles = [m.register_forward_hook(partial(save, name)) for name, m in model.items()]
    clean_logits = run(clean)
    for h in handles:
        h.remove()
    base = run(corrupted)
    diff = [(clean_logits[0, 3] - clean_logits[0, 5]).item(), (base[0, 3] - base[0, 5]).item()]
    for name in ("embed", "mlp0", "mlp1"):
        handle = model[name].register_forward_hook(partial(patch, name))
        with torch.no_grad():
            logits = run(corrupted)
        handle.remove()
        diff.append((logits[0, 3] - logits[0, 5]).item())
    return diff


def linear_probe(torch):
    """Activations of a frozen network, a probe trained on them, accuracy for each layer."""
    nn = torch.nn
    torch.manual_seed(5)
    model, acts = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU()), {}
    for p in model.parameters():
        p.requires_grad = False
    for name, layer in model.named_children():
        layer.register_forward_hook(lambda m, i, o, name=name: acts.update({name: o.detach().clone()}))
    x = torch.randn(60, 6)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model(x)
    out = []
    for name in ("1", "3"):
        probe = nn.Linear(12, 2)
        opt = torch.optim.Adam(probe.parameters(), lr=0.05, weight_decay=1e-3)
        for _ in range(10):
            loss = nn.functional.cross_entropy(probe(acts[name][:40]), y[:40])
            opt.zero_grad()
            loss.backward()
            opt.step()
        acc = (probe(acts[name][40:]).argmax(-1) == y[40:]).float().mean()
        out += [loss.item(), acc.item()]
    return out


def sparse_autoencoder(torch):
    """A dictionary of features with unit rows, an L1 penalty, tied biases, dead features counted."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(6)
    W_enc = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(6, 16)))
    W_dec, b_enc, b_dec = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(16, 6))), nn.Parameter(torch.zeros(16)), nn.Parameter(torch.zeros(6))
    W_dec.data[:] = W_dec / W_dec.norm(dim=-1, keepdim=True)
    opt, losses = torch.optim.Adam([W_enc, W_dec, b_enc, b_dec], lr=1e-2, betas=(0.9, 0.99)), []
    truth = F.normalize(torch.randn(10, 6), dim=-1)
    for _ in range(6):
        x = torch.relu(torch.randn(32, 10) - 1) @ truth
        acts = F.relu((x - b_dec) @ W_enc + b_enc)
        x_hat = acts @ W_dec + b_dec
        l2, l1 = (x_hat - x).pow(2).sum(-1).mean(0), 3e-2 * acts.abs().sum()
        (l2 + l1).backward()
        with torch.no_grad():
            W_dec_normed = W_dec / W_dec.norm(dim=-1, keepdim=True)
            W_dec.grad -= (W_dec.grad * W_dec_normed).sum(-1, keepdim=True) * W_dec_normed
        opt.step()
        opt.zero_grad()
        with torch.no_grad():
            W_dec /= W_dec.norm(dim=-1, keepdim=True)
        losses += [l2.item(), l1.item(), (acts > 0).float().mean().item()]
    return losses


def adversarial_examples(torch):
    """The sign of the gradient, then projected steps inside a ball around the image."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(7)
    model, x, y = _cnn(torch), torch.rand(4, 1, 8, 8), torch.tensor([0, 1, 2, 0])

    def fgsm_attack(image, epsilon, data_grad):
        return torch.clamp(image + epsilon * data_grad.sign(), 0, 1)
    data = x.clone().requires_grad_()
    F.nll_loss(F.log_softmax(model(data), 1), y).backward()
    fast = fgsm_attack(x, 0.1, data.grad.data)
    delta = torch.zeros_like(x).uniform_(-0.1, 0.1).requires_grad_()
    losses = []
    for _ in range(4):
        loss = nn.CrossEntropyLoss()(model(x + delta), y)
        loss.backward()
        delta.data = (delta + 0.02 * delta.grad.detach().sign()).clamp(-0.1, 0.1)
        delta.data = torch.min(torch.max(delta.data, -x), 1 - x)
        delta.grad.zero_()
        losses.append(loss.item())
    return [F.cross_entropy(model(fast), y), losses, delta.abs().max()]


def feature_visualisation(torch):
    """An image optimised to excite one channel, with total variation, jitter by roll, and blur by a depthwise convolution."""
    F = torch.nn.functional
    torch.manual_seed(8)
    model, kept = _cnn(torch).eval(), []
    model[3].register_forward_hook(lambda m, i, o: kept.append(o))
    image = torch.randn(1, 1, 8, 8).mul_(0.1).requires_grad_()
    opt, values = torch.optim.Adam([image], lr=0.05), []
    kernel = torch.tensor([1.0, 2.0, 1.0]).outer(torch.tensor([1.0, 2.0, 1.0])).div(16).view(1, 1, 3, 3)
    for _ in range(5):
        kept.clear()
        model(torch.roll(image, shifts=tuple(torch.randint(-1, 2, (2,)).tolist()), dims=(2, 3)))
        tv = (image[..., 1:, :] - image[..., :-1, :]).abs().sum() + torch.diff(image, dim=-1).abs().sum()
        loss = -kept[0][0, 2].mean() + 1e-3 * tv
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        with torch.no_grad():
            image.copy_(F.conv2d(F.pad(image, (1, 1, 1, 1), mode="replicate"), kernel))
        values.append(loss.item())
    return [values, image.std()]


def attention_patterns(torch):
    """The weights of MultiheadAttention, rollout over layers, the entropy of each head, an ablated head."""
    nn = torch.nn
    torch.manual_seed(9)
    layers = nn.ModuleList([nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(2)])
    x, patterns = torch.randn(1, 5, 8), []
    for attn in layers:
        out, w = attn(x, x, x, need_weights=True, average_attn_weights=False)
        x = x + out
        patterns.append(w)
    rollout = torch.eye(5)
    for w in patterns:
        a = w.mean(1)[0] + torch.eye(5)
        rollout = (a / a.sum(-1, keepdim=True)) @ rollout
    entropy = torch.special.entr(torch.stack(patterns)).sum(-1).mean(-1)
    with torch.no_grad():
        layers[1].out_proj.weight[:, :4] = 0
    ablated = layers[1](x, x, x)[0]
    return [rollout, entropy, ablated, torch.einsum("lbhqk->lh", torch.stack(patterns))]
