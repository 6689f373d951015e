# wrong: gives the node that was created first
class ReadyQueue(solution.ReadyQueue):
    def push(self, node):
        heapq.heappush(self.heap, (node._sequence_nr(), next(self.counter), node))
