"""Where the checks find your functions. Change it only if you have given them other names."""

import importlib.util
import os
import sys

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"        # before anything imports numba

from minigrad.grading.checks import fail, student


def checkpoint():
    return student("hw7").checkpoint


def checkpoint_layers():
    return student("hw7").checkpoint_layers


def count_saved():
    return student("hw7").count_saved


def train_gpt():
    return student("hw7").train_gpt


def kernel(name):
    """One of your kernels, for numba's simulator."""
    if importlib.util.find_spec("numba_cuda") is None:
        fail('numba-cuda is not installed. It runs the kernels of part 2: pip install "minigrad-autograd[simulator]"')
    from numba import cuda
    sys.setswitchinterval(1e-4)     # the threads of the simulator wait for each other often
    return cuda.jit(getattr(student("hw7"), name))


def train_softmax():
    return student("hw7").train_softmax


def joins():
    return student("hw7").joins


def backward_input():
    return student("hw7").backward_input


def backward_weight():
    return student("hw7").backward_weight


def train_stages():
    return student("hw7").train_stages
