"""Programs in the manner of reinforcement learning: small environments written here, policies, values, replay."""

from collections import deque, namedtuple


class _Walk:
    """A corridor of `n` cells: two actions, a reward at the right end."""

    def __init__(self, torch, n=6):
        self.torch, self.n, self.state, self.steps = torch, n, 2, 0

    def _observe(self):
        state = self.torch.zeros(self.n)
        state[self.state] = 1.0
        return state

    def reset(self):
        self.state, self.steps = 2, 0
        return self._observe()

    def step(self, action):
        self.state = max(0, min(self.n - 1, self.state + (1 if action == 1 else -1)))
        self.steps += 1
        done = self.state in (0, self.n - 1) or self.steps >= 12
        return self._observe(), (1.0 if self.state == self.n - 1 else -0.1), done, {}


def reinforce(torch):
    """Categorical actions, discounted returns that are normalised, saved log probabilities."""
    nn, F, Categorical = torch.nn, torch.nn.functional, torch.distributions.Categorical
    torch.manual_seed(543)
    policy = nn.Sequential(nn.Linear(6, 16), nn.Dropout(p=0.2), nn.ReLU(), nn.Linear(16, 2))
    optimizer, env, out = torch.optim.Adam(policy.parameters(), lr=1e-2), _Walk(torch), []
    for _ in range(4):
        state, done, saved_log_probs, rewards = env.reset(), False, [], []
        while not done:
            probs = F.softmax(policy(state.float().unsqueeze(0)), dim=1)
            m = Categorical(probs)
            action = m.sample()
            saved_log_probs.append(m.log_prob(action))
            state, reward, done, _ = env.step(action.item())
            rewards.append(reward)
        R, returns = 0, deque()
        for r in rewards[::-1]:
            R = r + 0.99 * R
            returns.appendleft(R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-6) if len(returns) > 1 else returns
        optimizer.zero_grad()
        policy_loss = torch.cat([-log_prob * R for log_prob, R in zip(saved_log_probs, returns)]).sum()
        policy_loss.backward()
        optimizer.step()
        out += [policy_loss.item(), len(rewards)]
    return out


def actor_critic(torch):
    """One body, two heads, SavedAction, smooth_l1_loss for the values."""
    nn, F, Categorical = torch.nn, torch.nn.functional, torch.distributions.Categorical
    SavedAction = namedtuple("SavedAction", ["log_prob", "value"])
    torch.manual_seed(3)

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.affine1, self.action_head, self.value_head = nn.Linear(6, 16), nn.Linear(16, 2), nn.Linear(16, 1)

        def forward(self, x):
            x = F.relu(self.affine1(x))
            return F.softmax(self.action_head(x), dim=-1), self.value_head(x)
    model = Policy()
    optimizer, env, out = torch.optim.Adam(model.parameters(), lr=3e-2), _Walk(torch), []
    for _ in range(4):
        state, done, saved, rewards = env.reset(), False, [], []
        while not done:
            probs, value = model(state)
            m = Categorical(probs)
            action = m.sample()
            saved.append(SavedAction(m.log_prob(action), value))
            state, reward, done, _ = env.step(action.item())
            rewards.append(reward)
        returns, R = [], 0
        for r in rewards[::-1]:
            R = r + 0.99 * R
            returns.insert(0, R)
        policy_losses, value_losses = [], []
        for (log_prob, value), R in zip(saved, torch.tensor(returns)):
            policy_losses.append(-log_prob * (R - value.item()))
            value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
        loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out += [loss.item(), len(rewards)]
    return out


def dqn(torch):
    """A replay deque, an epsilon-greedy policy, a target network with soft updates, gradients clipped by value."""
    import random
    nn, optim = torch.nn, torch.optim
    Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
    torch.manual_seed(4)

    def net():
        return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    policy_net, target_net, memory = net(), net(), deque(maxlen=100)
    target_net.load_state_dict(policy_net.state_dict())
    optimizer, env, losses = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True), _Walk(torch), []
    state = env.reset().unsqueeze(0)
    for _ in range(25):
        if random.random() > 0.3:
            with torch.no_grad():
                action = policy_net(state).max(1).indices.view(1, 1)
        else:
            action = torch.tensor([[random.randrange(2)]], device=state.device, dtype=torch.long)
        observation, reward, done, _ = env.step(action.item())
        next_state = None if done else observation.unsqueeze(0)
        memory.append(Transition(state, action, next_state, torch.tensor([reward])))
        state = env.reset().unsqueeze(0) if done else next_state
        if len(memory) < 8:
            continue
        batch = Transition(*zip(*random.sample(memory, 8)))
        non_final_mask = torch.tensor(tuple(s is not None for s in batch.next_state), dtype=torch.bool)
        non_final = torch.cat([s for s in batch.next_state if s is not None])
        values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
        next_values = torch.zeros(8)
        with torch.no_grad():
            next_values[non_final_mask] = target_net(non_final).max(1).values
        loss = nn.SmoothL1Loss()(values, (next_values * 0.99 + torch.cat(batch.reward)).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        target, source = target_net.state_dict(), policy_net.state_dict()
        for key in source:
            target[key] = source[key] * 0.05 + target[key] * 0.95
        target_net.load_state_dict(target)
        losses.append(loss.item())
    return losses


def ppo_clip(torch):
    """The clipped ratio, generalised advantages, an entropy bonus, several epochs of shuffled minibatches."""
    nn, Categorical = torch.nn, torch.distributions.Categorical
    torch.manual_seed(5)

    def layer_init(layer, std=2 ** 0.5, bias_const=0.0):
        torch.nn.init.orthogonal_(layer.weight, std)
        torch.nn.init.constant_(layer.bias, bias_const)
        return layer
    actor = nn.Sequential(layer_init(nn.Linear(6, 8)), nn.Tanh(), layer_init(nn.Linear(8, 2), std=0.01))
    critic = nn.Sequential(layer_init(nn.Linear(6, 8)), nn.Tanh(), layer_init(nn.Linear(8, 1), std=1.0))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=2.5e-3, eps=1e-5)
    env, T, out = _Walk(torch), 16, []
    obs, actions, logprobs, rewards, dones, values = torch.zeros((T, 6)), *(torch.zeros(T) for _ in range(5))
    next_obs = env.reset()
    for t in range(T):
        obs[t] = next_obs
        with torch.no_grad():
            probs, values[t] = Categorical(logits=actor(next_obs)), critic(next_obs).flatten()
        action = probs.sample()
        actions[t], logprobs[t] = action, probs.log_prob(action)
        next_obs, reward, done, _ = env.step(action.item())
        rewards[t], dones[t] = torch.tensor(reward).view(-1), float(done)
        next_obs = env.reset() if done else next_obs
    advantages, last = torch.zeros_like(rewards), 0
    for t in reversed(range(T)):
        next_value = values[t + 1] if t + 1 < T else critic(next_obs).detach()
        delta = rewards[t] + 0.99 * next_value * (1 - dones[t]) - values[t]
        advantages[t] = last = delta + 0.99 * 0.95 * (1 - dones[t]) * last
    returns = advantages + values
    for _ in range(3):
        for mb in torch.randperm(T).split(8):
            dist = Categorical(logits=actor(obs[mb]))
            ratio = (dist.log_prob(actions.long()[mb]) - logprobs[mb]).exp()
            adv = (advantages[mb] - advantages[mb].mean()) / (advantages[mb].std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - 0.2, 1 + 0.2)).mean()
            loss = pg_loss - 0.01 * dist.entropy().mean() + 0.5 * 0.5 * ((critic(obs[mb]).view(-1) - returns[mb]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
            optimizer.step()
            out.append(loss.item())
    return [out, actions, advantages]


def gaussian_policy(torch):
    """A Normal policy with a learned log deviation and Independent, trained on a point that must reach a goal."""
    nn = torch.nn
    Normal, Independent = torch.distributions.Normal, torch.distributions.Independent
    torch.manual_seed(6)
    mean_net, log_std = nn.Linear(2, 2), nn.Parameter(-0.5 * torch.ones(2))
    optimizer, out = torch.optim.Adam([*mean_net.parameters(), log_std], lr=0.02), []
    for _ in range(4):
        x, log_probs, rewards = torch.zeros(8, 2), [], []
        for _ in range(5):
            pi = Independent(Normal(mean_net(x), log_std.exp()), 1)
            a = pi.sample()
            log_probs.append(pi.log_prob(a))
            x = x + 0.3 * a.clamp(-1, 1)
            rewards.append(-(x - torch.tensor([1.0, -0.5])).pow(2).sum(-1))
        to_go = torch.stack(rewards).flip(0).cumsum(0).flip(0)
        advantage = to_go - to_go.mean(1, keepdim=True)
        loss = -(torch.stack(log_probs) * advantage).mean() - 1e-3 * pi.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out += [loss.item(), to_go[0].mean().item()]
    return [out, log_std]


def soft_actor_critic(torch):
    """Squashed Gaussian actions by rsample, two critics, a temperature that is learned, polyak averaging."""
    import copy
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(7)
    actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
    q1, q2 = (nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(2))
    q1_target, q2_target = copy.deepcopy(q1).requires_grad_(False), copy.deepcopy(q2).requires_grad_(False)
    log_alpha = torch.zeros(1, requires_grad=True)
    pi_opt, a_opt = torch.optim.Adam(actor.parameters(), lr=3e-3), torch.optim.Adam([log_alpha], lr=3e-3)
    q_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=3e-3)
    o, a, r, o2, d = torch.randn(16, 3), torch.rand(16, 1) * 2 - 1, torch.randn(16), torch.randn(16, 3), torch.zeros(16)

    def act(o):
        mu, log_std = actor(o).chunk(2, dim=-1)
        dist = torch.distributions.Normal(mu, torch.exp(torch.clamp(log_std, -20, 2)))
        u = dist.rsample()
        logp = dist.log_prob(u).sum(axis=-1) - (2 * (torch.log(torch.tensor(2.0)) - u - F.softplus(-2 * u))).sum(axis=1)
        return torch.tanh(u), logp
    out = []
    for _ in range(4):
        with torch.no_grad():
            a2, logp2 = act(o2)
            x2 = torch.cat([o2, a2], -1)
            backup = r + 0.99 * (1 - d) * (torch.min(q1_target(x2), q2_target(x2)).squeeze(-1) - log_alpha.exp() * logp2)
        x = torch.cat([o, a], -1)
        loss_q = ((q1(x).squeeze(-1) - backup) ** 2).mean() + ((q2(x).squeeze(-1) - backup) ** 2).mean()
        q_opt.zero_grad()
        loss_q.backward()
        q_opt.step()
        pi, logp = act(o)
        x = torch.cat([o, pi], -1)
        loss_pi = (log_alpha.exp().detach() * logp - torch.min(q1(x), q2(x)).squeeze(-1)).mean()
        pi_opt.zero_grad()
        loss_pi.backward()
        pi_opt.step()
        alpha_loss = -(log_alpha * (logp.detach() - 1)).mean()
        a_opt.zero_grad()
        alpha_loss.backward()
        a_opt.step()
        with torch.no_grad():
            for net, target in ((q1, q1_target), (q2, q2_target)):
                for p, p_targ in zip(net.parameters(), target.parameters()):
                    p_targ.data.mul_(0.995)
                    p_targ.data.add_(0.005 * p.data)
        out += [loss_q.item(), loss_pi.item(), log_alpha.item()]
    return out


def tabular_q_learning(torch):
    """A table of values in a tensor, written element by element; epsilon from torch.rand."""
    torch.manual_seed(8)
    Q, env, lengths = torch.zeros(6, 2), _Walk(torch), []
    for episode in range(8):
        s, done = env.reset().argmax().item(), False
        while not done:
            if torch.rand(1).item() < 0.3 / (episode + 1):
                a = torch.randint(2, ()).item()
            else:
                best = torch.nonzero(Q[s] == Q[s].max()).flatten()
                a = best[torch.randint(len(best), (1,))].item()
            obs, r, done, _ = env.step(a)
            s2 = int(obs.argmax())
            Q[s, a] += 0.5 * (r + 0.9 * Q[s2].max() * (not done) - Q[s, a])
            s = s2
        lengths.append(env.steps)
    return [Q, lengths]


def bandit_gradient(torch):
    """A gradient bandit with a baseline, logits updated by autograd, Thompson sampling by Beta means."""
    torch.manual_seed(9)
    true, logits, baseline, counts = torch.tensor([0.2, 0.5, 0.8]), torch.zeros(3, requires_grad=True), 0.0, torch.zeros(3)
    optimizer = torch.optim.SGD([logits], lr=0.4)
    for t in range(30):
        pi = torch.distributions.Categorical(logits=logits)
        a = pi.sample()
        r = torch.bernoulli(true[a]).item()
        baseline += (r - baseline) / (t + 1)
        counts[a] += 1
        loss = -pi.log_prob(a) * (r - baseline)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [logits, counts, baseline, pi.entropy(), torch.distributions.Beta(1 + counts, 2.0).mean]


def ddpg_noise(torch):
    """Ornstein-Uhlenbeck noise, a deterministic actor, the critic's gradient with respect to the action."""
    nn = torch.nn
    torch.manual_seed(10)
    actor, critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1), nn.Tanh()), nn.Linear(3, 1)
    actor[2].weight.data.uniform_(-3e-3, 3e-3)
    state, noise, grads = torch.randn(4, 2), torch.zeros(1), []
    opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
    for _ in range(5):
        noise = noise + 0.15 * (0 - noise) + 0.2 * torch.randn(1)
        action = (actor(state) + noise).clamp(-1.0, 1.0)
        policy_loss = -critic(torch.cat([state, action], 1)).mean()
        opt.zero_grad(set_to_none=False)
        policy_loss.backward()
        grads.append(actor[0].weight.grad.norm().item())
        opt.step()
        state = state + 0.1 * action.detach()
    return [grads, noise, state, torch.nn.utils.parameters_to_vector(actor.parameters()).sum()]
