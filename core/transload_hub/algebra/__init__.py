"""Views of `top` ops by what they compute: affine functions, products, numbers."""
