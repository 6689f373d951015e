# wrong: a view of a view counts from the beginning of the memory
class Array(Array):
    def view(self, start, stop):
        found = super().view(start, stop)
        found.start, found.stop = start, stop
        return found
