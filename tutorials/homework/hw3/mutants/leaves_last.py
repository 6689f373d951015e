# wrong: gives leaves after all other nodes
class ReadyQueue(solution.ReadyQueue):
    def push(self, node):
        number = 1 if node.name() == "AccumulateGrad" else -node._sequence_nr()
        heapq.heappush(self.heap, (number, next(self.counter), node))
