# wrong: expects version 0, also of a tensor that was written to before it was saved
class Saved:
    def pack(self, tensor):
        return tensor

    def unpack(self, packed):
        if packed._version != 0:
            raise RuntimeError("modified by an inplace operation")
        return packed
