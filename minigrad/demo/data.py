"""Handwritten digits: 1,797 scans of 8 by 8 pixels, from the UCI archive, inside scikit-learn.

E. Alpaydin and C. Kaynak, "Optical recognition of handwritten digits", 1998.
"""

import minigrad as mg


def digits(test_share=0.2, seed=0):
    """The digits as ((images, labels) for training, (images, labels) for testing).

    Images are float32 of shape (N, 1, 8, 8) with values in [0, 1], labels int64 of shape (N,). Each digit has
    the same share in both parts.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    scans, labels = load_digits(return_X_y=True)
    images = (scans / 16).astype("float32").reshape(-1, 1, 8, 8)
    parts = train_test_split(images, labels.astype("int64"), test_size=test_share, random_state=seed, stratify=labels)
    train_images, test_images, train_labels, test_labels = [mg.tensor(part) for part in parts]
    return (train_images, train_labels), (test_images, test_labels)


def batches(images, labels, size):
    """The data once, in random order, in batches, each moved by up to a pixel: a digit is the same further left."""
    order = mg.randperm(len(images))
    for start in range(0, len(images), size):
        chosen = order[start:start + size]
        down, right = mg.randint(3, (2,)).tolist()
        yield moved(images[chosen], down - 1, right - 1), labels[chosen]


def moved(images, down, right):
    """The images moved by so many pixels, with empty ones coming in."""
    height, width = images.shape[2:]
    out = mg.zeros_like(images)
    out[:, :, max(down, 0):height + min(down, 0), max(right, 0):width + min(right, 0)] = \
        images[:, :, max(-down, 0):height + min(-down, 0), max(-right, 0):width + min(-right, 0)]
    return out
