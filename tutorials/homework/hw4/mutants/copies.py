# wrong: saves a copy, so nothing is ever found
class Saved:
    def pack(self, tensor):
        return tensor.clone()

    def unpack(self, packed):
        return packed
