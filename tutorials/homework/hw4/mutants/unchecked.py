# wrong: unpacks without a check
class Saved:
    def pack(self, tensor):
        return tensor, tensor._version

    def unpack(self, packed):
        return packed[0]
