# wrong: gives back zeros
class Saved:
    def pack(self, tensor):
        return tensor, tensor._version

    def unpack(self, packed):
        return mg.zeros_like(packed[0])
