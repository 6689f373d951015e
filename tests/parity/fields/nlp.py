"""Programs in the manner of natural language processing: words as numbers, padded sequences, encoders and decoders."""

# ruff: noqa: SIM905

SENTENCES = ["the cat sat on the mat", "a dog sat on a log", "the bird sang", "a cat and a dog slept on the mat", "birds sing"]


def _vocabulary(specials=("<pad>", "<bos>", "<eos>")):
    words = sorted({w for s in SENTENCES for w in s.split()})
    return {w: i for i, w in enumerate([*specials, *words])}


def bag_of_words(torch):
    """Logistic regression on counts of words; NLLLoss of one sentence at a time."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(1)
    data = [("me gusta la cafeteria".split(), 0), ("give it to me".split(), 1), ("no creo que sea buena".split(), 0),
            ("it is not lost on me".split(), 1)]
    word_to_ix = {}
    for sent, _ in data:
        for word in sent:
            word_to_ix.setdefault(word, len(word_to_ix))

    def make_bow_vector(sentence):
        vec = torch.zeros(len(word_to_ix))
        for word in sentence:
            vec[word_to_ix[word]] += 1
        return vec.view(1, -1)
    model = nn.Linear(len(word_to_ix), 2)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(5):
        for sent, label in data:
            model.zero_grad()
            loss = nn.NLLLoss()(F.log_softmax(model(make_bow_vector(sent)), dim=1), torch.LongTensor([label]))
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    return [losses, next(model.parameters())[:, word_to_ix["creo"]]]


def ngram_language_model(torch):
    """Two words of context, embeddings concatenated by view."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(1)
    words = " ".join(SENTENCES).split()
    ix = {w: i for i, w in enumerate(sorted(set(words)))}
    ngrams = [([words[i - j - 1] for j in range(2)], words[i]) for i in range(2, len(words))]

    class NGram(nn.Module):
        def __init__(self):
            super().__init__()
            self.embeddings, self.linear1, self.linear2 = nn.Embedding(len(ix), 6), nn.Linear(12, 16), nn.Linear(16, len(ix))

        def forward(self, inputs):
            embeds = self.embeddings(inputs).view((1, -1))
            return F.log_softmax(self.linear2(F.relu(self.linear1(embeds))), dim=1)
    model, loss_function, losses = NGram(), nn.NLLLoss(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        total_loss = 0
        for context, target in ngrams:
            model.zero_grad()
            loss = loss_function(model(torch.tensor([ix[w] for w in context], dtype=torch.long)), torch.tensor([ix[target]]))
            loss.backward()
            optimizer.step()
            total_loss += loss.item()
        losses.append(total_loss)
    return losses


def skip_gram(torch):
    """Negative sampling drawn by multinomial from counts to the power 3/4, sparse-looking embeddings, nearest words."""
    nn, F = torch.nn, torch.nn.functional
    from collections import Counter
    torch.manual_seed(2)
    words = " ".join(SENTENCES).split()
    count = Counter(words)
    ix = {w: i for i, w in enumerate(sorted(count))}
    pairs = torch.tensor([(ix[words[i]], ix[words[j]]) for i in range(len(words)) for j in (i - 1, i + 1) if 0 <= j < len(words)])
    freq = torch.tensor([count[w] for w in sorted(count)], dtype=torch.float).pow(0.75)
    u, v = nn.Embedding(len(ix), 8), nn.Embedding(len(ix), 8)
    nn.init.uniform_(u.weight, -0.5 / 8, 0.5 / 8)
    opt, losses = torch.optim.Adagrad([u.weight, v.weight], lr=0.3), []
    for _ in range(6):
        center, context = pairs[torch.randperm(len(pairs))[:16]].unbind(1)
        neg = torch.multinomial(freq, 16 * 4, replacement=True).view(16, 4)
        pos_score = F.logsigmoid((u(center) * v(context)).sum(1))
        neg_score = F.logsigmoid(-torch.bmm(v(neg), u(center).unsqueeze(2)).squeeze(2)).sum(1)
        loss = -(pos_score + neg_score).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    sims = F.cosine_similarity(u.weight[ix["cat"]].unsqueeze(0), u.weight)
    values, nearest = sims.topk(3)
    return [losses, values, nearest]


def sequence_tagger(torch):
    """An LSTM over a sentence of its own length, view(len, 1, -1), tags by argmax."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(3)
    ix, tags = _vocabulary(), [[0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 0, 1], [0, 1, 2]]
    emb, lstm, out = nn.Embedding(len(ix), 6), nn.LSTM(6, 6), nn.Linear(6, 4)
    params = [p for m in (emb, lstm, out) for p in m.parameters()]
    optimizer, losses = torch.optim.SGD(params, lr=0.3), []

    def scores(sentence):
        idxs = torch.tensor([ix[w] for w in sentence.split()], dtype=torch.long)
        lstm_out, _ = lstm(emb(idxs).view(len(idxs), 1, -1))
        return F.log_softmax(out(lstm_out.view(len(idxs), -1)), dim=1)
    for _ in range(4):
        for sentence, tag in zip(SENTENCES, tags):
            optimizer.zero_grad()
            loss = F.nll_loss(scores(sentence), torch.tensor(tag))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return [losses, scores(SENTENCES[0]).argmax(1)]


def padded_and_packed(torch):
    """pad_sequence, pack_padded_sequence, a bidirectional GRU, pad_packed_sequence, a mean over the true lengths."""
    nn, rnn = torch.nn, torch.nn.utils.rnn
    torch.manual_seed(4)
    ix = _vocabulary()
    seqs = sorted(([ix[w] for w in s.split()] for s in SENTENCES), key=len, reverse=True)
    lengths = torch.tensor([len(s) for s in seqs])
    padded = rnn.pad_sequence([torch.tensor(s) for s in seqs], batch_first=True, padding_value=ix["<pad>"])
    emb, gru, fc = nn.Embedding(len(ix), 5, padding_idx=0), nn.GRU(5, 4, batch_first=True, bidirectional=True), nn.Linear(8, 2)
    params = [*emb.parameters(), *gru.parameters(), *fc.parameters()]
    opt, y, losses = torch.optim.Adam(params, lr=1e-2), torch.tensor([0, 1, 0, 1, 0]), []
    for _ in range(4):
        packed = rnn.pack_padded_sequence(emb(padded), lengths, batch_first=True)
        output, h = gru(packed)
        output, out_lengths = rnn.pad_packed_sequence(output, batch_first=True)
        mean = output.sum(1) / out_lengths.unsqueeze(1)
        loss = nn.functional.cross_entropy(fc(mean), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return [losses, packed.batch_sizes, h, emb.weight[0], list(output.shape)]


def seq2seq_with_attention(torch):
    """Encoder and decoder GRUs, bmm attention, teacher forcing, greedy decoding with topk."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(5)

    class EncoderRNN(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.gru = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True)

        def forward(self, input):
            return self.gru(self.embedding(input))

    class AttnDecoderRNN(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.gru, self.out = nn.Embedding(9, 8), nn.GRU(16, 8, batch_first=True), nn.Linear(8, 9)
            self.Wa, self.Ua, self.Va = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, encoder_outputs, hidden, target=None):
            inp, outputs = torch.empty(encoder_outputs.size(0), 1, dtype=torch.long).fill_(0), []
            for i in range(5):
                scores = self.Va(torch.tanh(self.Wa(hidden.permute(1, 0, 2)) + self.Ua(encoder_outputs)))
                context = torch.bmm(F.softmax(scores.squeeze(2).unsqueeze(1), dim=-1), encoder_outputs)
                output, hidden = self.gru(torch.cat((self.embedding(inp), context), dim=2), hidden)
                outputs.append(self.out(output))
                if target is not None:
                    inp = target[:, i].unsqueeze(1)
                else:
                    _, topi = outputs[-1].topk(1)
                    inp = topi.squeeze(-1).detach()
            return F.log_softmax(torch.cat(outputs, dim=1), dim=-1)
    src = torch.randint(1, 9, (4, 5))
    encoder, decoder, losses = EncoderRNN(), AttnDecoderRNN(), []
    opts = [torch.optim.Adam(m.parameters(), lr=0.01) for m in (encoder, decoder)]
    for _ in range(4):
        for opt in opts:
            opt.zero_grad()
        logp = decoder(*encoder(src), src.flip(1))
        loss = nn.NLLLoss()(logp.view(-1, logp.size(-1)), src.flip(1).reshape(-1))
        loss.backward()
        for opt in opts:
            opt.step()
        losses.append(loss.item())
    return [losses, decoder(*encoder(src)).argmax(-1)]


def transformer_encoder(torch):
    """nn.TransformerEncoder with a square subsequent mask, warm-up of the learning rate, perplexity."""
    import math
    nn = torch.nn
    torch.manual_seed(6)

    class TransformerModel(nn.Module):
        def __init__(self, ntoken, d_model, nhead, d_hid, nlayers):
            super().__init__()
            layer = nn.TransformerEncoderLayer(d_model, nhead, d_hid, dropout=0.1)
            self.transformer_encoder = nn.TransformerEncoder(layer, nlayers)
            self.embedding, self.linear, self.d_model = nn.Embedding(ntoken, d_model), nn.Linear(d_model, ntoken), d_model
            self.embedding.weight.data.uniform_(-0.1, 0.1)

        def forward(self, src):
            mask = nn.Transformer.generate_square_subsequent_mask(len(src))
            return self.linear(self.transformer_encoder(self.embedding(src) * math.sqrt(self.d_model), mask))
    model = TransformerModel(11, 8, 2, 16, 2)
    data, criterion, losses = torch.randint(0, 11, (7, 3)), nn.CrossEntropyLoss(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) ** -0.5, (s + 1) * 4 ** -1.5))
    for _ in range(4):
        loss = criterion(model(data[:-1]).view(-1, 11), data[1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        scheduler.step()
        losses += [math.exp(loss.item()), scheduler.get_last_lr()[0]]
    model.eval()
    with torch.no_grad():
        return [losses, model(data).mean(), model(data).std()]


def translation_transformer(torch):
    """nn.Transformer with padding masks of source and target, greedy decoding of one sentence."""
    nn = torch.nn
    torch.manual_seed(7)
    PAD, BOS, V = 0, 1, 10
    model = nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16, dropout=0.0,
                           batch_first=True)
    src_emb, tgt_emb, generator = nn.Embedding(V, 8), nn.Embedding(V, 8), nn.Linear(8, V)
    net = nn.ModuleList([model, src_emb, tgt_emb, generator])
    for p in net.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    src = torch.tensor([[3, 4, 5, 6, 2], [7, 8, 2, PAD, PAD]])
    tgt = torch.tensor([[BOS, 6, 5, 4, 3, 2], [BOS, 8, 7, 2, PAD, PAD]])

    def decode(src, tgt_in):
        n = tgt_in.shape[1]
        causal = torch.triu(torch.ones((n, n), dtype=torch.bool), diagonal=1)
        return generator(model(src_emb(src), tgt_emb(tgt_in), tgt_mask=causal, src_key_padding_mask=src == PAD,
                               tgt_key_padding_mask=tgt_in == PAD, memory_key_padding_mask=src == PAD))
    opt, loss_fn, losses = torch.optim.Adam(net.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9), nn.CrossEntropyLoss(ignore_index=PAD), []
    for _ in range(5):
        logits = decode(src, tgt[:, :-1])
        loss = loss_fn(logits.reshape(-1, V), tgt[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    ys = torch.ones(1, 1).fill_(BOS).type(torch.long)
    for _ in range(4):
        _, next_word = torch.max(decode(src[:1], ys)[:, -1], dim=1)
        ys = torch.cat([ys, torch.ones(1, 1).type_as(src.data).fill_(next_word.item())], dim=1)
    return [losses, ys]


def text_classification(torch):
    """EmbeddingBag with offsets made by collate_fn, gradient clipping, StepLR."""
    nn = torch.nn
    torch.manual_seed(8)
    ix = _vocabulary()

    def collate_batch(batch):
        label_list, text_list, offsets = [], [], [0]
        for label, text in batch:
            label_list.append(label)
            processed = torch.tensor([ix[w] for w in text.split()], dtype=torch.int64)
            text_list.append(processed)
            offsets.append(processed.size(0))
        return torch.tensor(label_list), torch.cat(text_list), torch.tensor(offsets[:-1]).cumsum(dim=0)
    data = list(zip([0, 1, 0, 1, 1], SENTENCES))
    loader = torch.utils.data.DataLoader(data, batch_size=2, shuffle=True, collate_fn=collate_batch)
    embedding, fc = nn.EmbeddingBag(len(ix), 6, sparse=False), nn.Linear(6, 2)
    embedding.weight.data.uniform_(-0.5, 0.5)
    fc.bias.data.zero_()
    optimizer = torch.optim.SGD([*embedding.parameters(), *fc.parameters()], lr=5)
    scheduler, out = torch.optim.lr_scheduler.StepLR(optimizer, 1.0, gamma=0.1), []
    for _ in range(2):
        for label, text, offsets in loader:
            optimizer.zero_grad()
            predicted = fc(embedding(text, offsets))
            loss = nn.CrossEntropyLoss()(predicted, label)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(fc.parameters(), 0.1)
            optimizer.step()
            out += [loss.item(), (predicted.argmax(1) == label).sum().item()]
        scheduler.step()
    return out


def conditional_random_field(torch):
    """The forward algorithm with logsumexp, the score of the true path, Viterbi decoding."""
    nn = torch.nn
    torch.manual_seed(9)
    START, STOP, K = 3, 4, 5
    transitions, emit = nn.Parameter(torch.randn(K, K)), nn.Linear(6, K)
    transitions.data[START, :], transitions.data[:, STOP] = -10000, -10000
    x, tags = torch.randn(7, 6), torch.tensor([0, 1, 1, 2, 0, 2, 1])
    opt, losses = torch.optim.SGD([transitions, *emit.parameters()], lr=0.01, weight_decay=1e-4), []
    for _ in range(4):
        feats = emit(x)
        forward_var = torch.full((1, K), -10000.0)
        forward_var[0][START] = 0.0
        for feat in feats:
            forward_var = torch.logsumexp(forward_var + transitions + feat.view(-1, 1), dim=1).view(1, -1)
        alpha = torch.logsumexp(forward_var + transitions[STOP], dim=1)[0]
        path, score = torch.cat([torch.tensor([START], dtype=torch.long), tags]), torch.zeros(1)
        for i, feat in enumerate(feats):
            score = score + transitions[path[i + 1], path[i]] + feat[path[i + 1]]
        loss = alpha - score - transitions[STOP, path[-1]]
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    viterbi, back = torch.full((K,), -10000.0).index_fill(0, torch.tensor([START]), 0.0), []
    for feat in emit(x):
        best, ids = (viterbi + transitions).max(1)
        viterbi = best + feat
        back.append(ids.tolist())
    return [losses, viterbi.max(), back]
