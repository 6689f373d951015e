# wrong: overwrites what is in the slot instead of adding to it
def receive(buffers, node, number, grad):
    buffers.setdefault(node, [None] * len(node._input_metadata))[number] = grad
