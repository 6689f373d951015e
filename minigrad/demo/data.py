"""Handwritten digits: 1,797 scans of 8 by 8 pixels from the UCI archive, which scikit-learn contains.

E. Alpaydin and C. Kaynak, "Optical recognition of handwritten digits", 1998.
"""

import minigrad as mg


def digits(test_share=0.2, seed=0):
    """Load the digits, and split them into a training part and a test part.

    Args:
        test_share (float, optional): the fraction of the digits in the test part.
        seed (int, optional): seed of the random split.

    Returns:
        ((images, labels), (images, labels)): the training part and the test part. Images are float32 of shape (N, 1, 8, 8) with
        values in [0, 1], labels are int64 of shape (N,). Each digit has the same share in both parts.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    scans, labels = load_digits(return_X_y=True)
    images = (scans / 16).astype("float32").reshape(-1, 1, 8, 8)
    parts = train_test_split(images, labels.astype("int64"), test_size=test_share, random_state=seed, stratify=labels)
    train_images, test_images, train_labels, test_labels = [mg.tensor(part) for part in parts]
    return (train_images, train_labels), (test_images, test_labels)


def batches(images, labels, size):
    """Yield the data once, in batches of random order. Each batch is shifted by up to a pixel; a digit stays the same."""
    order = mg.randperm(len(images))
    for start in range(0, len(images), size):
        chosen = order[start:start + size]
        down, right = mg.randint(3, (2,)).tolist()
        yield shift(images[chosen], down - 1, right - 1), labels[chosen]


def shift(images, down, right):
    """The images shifted by some pixels; the new pixels are empty."""
    height, width = images.shape[2:]
    out = mg.zeros_like(images)
    out[:, :, max(down, 0):height + min(down, 0), max(right, 0):width + min(right, 0)] = \
        images[:, :, max(-down, 0):height + min(-down, 0), max(-right, 0):width + min(-right, 0)]
    return out
