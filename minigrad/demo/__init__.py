"""The main job on real input: ``python -m minigrad.demo`` trains a network to read handwritten digits.

    data.py       the 1,797 digits that ship inside scikit-learn, in a training and a test part
    train.py      the network and its training
    pictures.py   the loss curve, misread digits, the graph of an expression
    __main__.py   the command
"""
