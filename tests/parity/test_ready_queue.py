"""engine/Q-06: the order of nodes with equal numbers, in graphs where other nodes are ready at the same time, as in torch."""

import random

import pytest
import torch

import minigrad as mg


def order_of_leaves(m, seed):
    """The order in which the leaves of a random graph get their gradients. Its nodes have up to 9 inputs."""
    chance = random.Random(seed)
    leaves = [m.tensor(float(i), requires_grad=True) for i in range(chance.randint(3, 24))]
    events = []
    for i, x in enumerate(leaves):
        x.register_post_accumulate_grad_hook(lambda _, i=i: events.append(i))
    made = []
    for _ in range(chance.randint(2, 30)):
        chosen = chance.choices([*leaves, *made], k=chance.randint(1, 9))
        made.append(m.stack(chosen).sum() if len(chosen) != 2 else chosen[0] * chosen[1])
    m.stack([*made, *leaves]).sum().backward()
    return events


@pytest.mark.parametrize("seed", range(60))
def test_order_of_equal_numbers(seed):
    assert order_of_leaves(mg, seed) == order_of_leaves(torch, seed)


def test_many_wait_for_one():
    """A wide graph: products wait while sums run, and then each product makes its two leaves ready at the same time."""
    def order(m):
        events = []
        leaves = [m.tensor(1.0 + i, requires_grad=True) for i in range(200)]
        for i, x in enumerate(leaves):
            x.register_post_accumulate_grad_hook(lambda _, i=i: events.append(i))
        products = [a * b for a, b in zip(leaves[::2], leaves[1::2])]
        total = products[0]
        for product in products[1:]:
            total = total + product
        total.backward()
        return events
    assert order(mg) == order(torch)
