"""A GPT learns to write like Python's documentation, letter by letter.

A. Radford et al., "Language models are unsupervised multitask learners", 2019: blocks of causal attention and a perceptron, with
normalisation before each. The text is what ``help("...")`` shows, which every Python has.

    python examples/gpt.py                          with minigrad; writes some text at the end
    python examples/gpt.py --library both           and with PyTorch, from the same weights
"""

import sys
from pydoc_data.topics import topics

import numpy as np
from common import arguments, run, same_weights, train


def network(m, letters, options):
    """Tokens (N, T) in, scores (N, T, letters) out."""
    nn, F, width, heads = m.nn, m.nn.functional, options.width, options.heads

    class Block(nn.Module):
        """x + attention(norm(x)), then x + mlp(norm(x))."""

        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            n, t, c = x.shape
            q, k, v = [y.view(n, t, heads, c // heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, dim=2)]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)       # (n, heads, t, c / heads)
            x = x + self.project(y.transpose(1, 2).reshape(n, t, c))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(options.length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(options.layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters, bias=False)

        def forward(self, tokens):
            x = self.letter(tokens) + self.place(m.arange(tokens.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    return GPT()


def corpus():
    """The text as numbers, and the letters that the numbers stand for."""
    text = "".join(letter for name in sorted(topics) for letter in topics[name] if letter == "\n" or " " <= letter <= "~")
    letters = sorted(set(text))
    number = {letter: i for i, letter in enumerate(letters)}
    return np.array([number[letter] for letter in text]), letters


def batches(m, text, size, length, seed):
    """Random pieces of the text, and for each letter the one that follows. Without end."""
    rng = np.random.default_rng(seed)
    while True:
        starts = rng.integers(0, len(text) - length - 1, size)
        pieces = np.stack([text[at:at + length + 1] for at in starts])
        yield m.tensor(pieces[:, :-1]), m.tensor(pieces[:, 1:])


def write(m, model, letters, length, count, seed):
    """Text of `count` letters, each drawn from what the model expects after those before it."""
    rng = np.random.default_rng(seed)
    tokens = [letters.index("\n")]
    with m.no_grad():
        for _ in range(count):
            scores = model(m.tensor([tokens[-length:]]))[0, -1]
            chances = m.softmax(scores.double(), 0).numpy()
            tokens.append(int(rng.choice(len(letters), p=chances / chances.sum())))
    return "".join(letters[token] for token in tokens)


def train_one(m, options):
    """Train with the library `m`. Returns the loss of each step."""
    text, letters = corpus()
    model = network(m, len(letters), options)
    same_weights(m, model, options.seed)
    optimizer = m.optim.AdamW(model.parameters(), lr=options.lr)

    def loss_of(model, batch):
        x, y = batch
        return m.nn.functional.cross_entropy(model(x).view(-1, len(letters)), y.reshape(-1))

    losses = train(model, optimizer, loss_of, batches(m, text, options.batch_size, options.length, options.seed), options.steps,
                   m.__name__)
    if options.write:
        print(write(m, model, letters, options.length, options.write, options.seed), end="\n\n")
    return losses


def main(argv=None):
    options = arguments(
        __doc__, steps=(600, "training steps"), batch_size=(16, "pieces of text per step"), length=(64, "letters in a piece"),
        width=(64, "numbers per letter"), layers=(2, "blocks"), heads=(4, "of the attention"), lr=(2e-3, "learning rate"),
        write=(400, "letters to write at the end"))
    return run(options.parse_args(argv), train_one)


if __name__ == "__main__":
    main(sys.argv[1:])
