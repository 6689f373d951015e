"""Tutorial 20: see __init__.py."""

# A solution of exercise 3 with one change.
COMPRESS = """
def compress_like(size=lambda whole: whole.abs(), rest=lambda flat, whole, sent: whole - sent, place=lambda index: index, add=None):
    def new(k):
        left = {}
        def compress(index, flat):
            whole = (add or mg.add)(flat, left.get(place(index), mg.zeros_like(flat)))
            places = size(whole).topk(k).indices
            sent = mg.zeros_like(whole)
            sent[places] = whole[places]
            left[place(index)] = rest(flat, whole, sent)
            return sent
        return compress
    return new
"""

WRONG = {
    "20": {
        "check_part": ["wrong = lambda losses, rows, ranks: losses.mean()", "wrong = lambda losses, rows, ranks: losses.sum() / rows",
                       "wrong = lambda losses, rows, ranks: losses.sum()",
                       "wrong = lambda losses, rows, ranks: losses.mean() * len(losses) * ranks / rows"],
        "check_compress": [
            COMPRESS + "wrong = compress_like(size=lambda whole: whole)",
            COMPRESS + "wrong = compress_like(rest=lambda flat, whole, sent: mg.zeros_like(flat))",
            COMPRESS + "wrong = compress_like(rest=lambda flat, whole, sent: whole)",
            COMPRESS + "wrong = compress_like(rest=lambda flat, whole, sent: flat - sent)",
            COMPRESS + "wrong = compress_like(place=lambda index: 0)", COMPRESS + "wrong = compress_like(add=mg.Tensor.add_)"]},
}
