# wrong: of several results only the first passes its gradient back
class Checkpoint(Checkpoint):
    @staticmethod
    def backward(ctx, *grads):
        return solution.Checkpoint.backward(ctx, grads[0])
