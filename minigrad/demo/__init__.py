"""A training on real data: ``python -m minigrad.demo`` trains a network to read handwritten digits.

    data.py       the 1,797 digits of scikit-learn, in a training part and a test part
    train.py      the network and its training
    pictures.py   the loss curve, misread digits, the graph of an expression
    __main__.py   the command
"""
