# wrong: looks at every node of the queue for each pop
class ReadyQueue(solution.ReadyQueue):
    def push(self, node):
        self.heap.append(node)

    def pop(self):
        latest = max(self.heap, key=lambda node: node._sequence_nr())
        self.heap.remove(latest)
        return latest
