# wrong: asks for the gradients of the arguments alone, so weights from outside get none
class Checkpoint(Checkpoint):
    @staticmethod
    def backward(ctx, *grads):
        args = [other if tensor is None else tensor.detach().requires_grad_(need)
                for tensor, other, need in zip(ctx.saved_tensors, ctx.others, ctx.needs_input_grad[1:])]
        state = mg.get_rng_state()
        mg.set_rng_state(ctx.state)
        with mg.enable_grad():
            results = ctx.function(*args)
        mg.set_rng_state(state)
        pairs = [(result, grad) for result, grad in zip(results if isinstance(results, tuple) else (results,), grads)
                 if result.requires_grad]
        wanted = [i for i, need in enumerate(ctx.needs_input_grad[1:]) if need]
        found = mg.autograd.grad([result for result, _ in pairs], [args[i] for i in wanted], [grad for _, grad in pairs],
                                 allow_unused=True)
        return None, *[found[wanted.index(i)] if i in wanted else None for i in range(len(args))]
