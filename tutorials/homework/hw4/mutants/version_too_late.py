# wrong: takes the version when it unpacks
class Saved:
    def pack(self, tensor):
        return tensor

    def unpack(self, packed):
        if packed._version != packed.clone()._version + packed._version:
            raise RuntimeError("modified by an inplace operation")
        return packed
