# SPDX-License-Identifier: MIT
"""What JSON that was kept must look like, before it is relied on: files are damaged and edited."""

NUMBER = (int, float)
OPTIONAL = "?"  # after a key that need not be there


def fits(value, shape):
    """shape: a type, several, [shape of each], {key: shape}; a map may have more keys than these."""
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(one, shape[0]) for one in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            fits(value[key.rstrip(OPTIONAL)], wanted) if key.rstrip(OPTIONAL) in value
            else key.endswith(OPTIONAL) for key, wanted in shape.items())
    if isinstance(shape, tuple):
        return any(fits(value, one) for one in shape)
    if shape is None or isinstance(shape, str):
        return value == shape
    return isinstance(value, shape) and (shape is bool or not isinstance(value, bool))
