# wrong: the second run draws other random numbers
class Checkpoint(Checkpoint):
    @staticmethod
    def backward(ctx, *grads):
        ctx.state = mg.get_rng_state()
        return solution.Checkpoint.backward(ctx, *grads)
