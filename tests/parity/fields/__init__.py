"""Small programs in the manner of fifteen fields, which run unchanged on minigrad and on PyTorch.

    lectures, books, examples          how people learn it: by hand, from scratch, then with modules and data loaders
    reinforcement, gans, nlp           agents, two networks against each other, sequences of words
    diffusion, ode, second_order       noise schedules, solvers, curvature
    interpretability, legacy           hooks and saliency, code of PyTorch 0.3 that still runs
    probabilistic, utilities           distributions, and the tools around a training loop
    graphs, habits                     sparse matrices and tables; what programs of certain authors do in their own way

Each public function of a file is one program. Its only argument is the library, called `torch` as in the programs that it stands
for, so its lines read as they would after `import torch`. It returns numbers: losses, sums of parameters, samples. Each program
sets its own seed, so both libraries draw the same numbers. `tests/parity/test_programs.py` compares what they return.
"""

FIELDS = ["lectures", "books", "examples", "reinforcement", "gans", "nlp", "diffusion", "ode", "second_order",
          "interpretability", "legacy", "probabilistic", "utilities", "graphs", "habits"]
