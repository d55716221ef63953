"""Networks written in Python: a function over tensors becomes a module of the hub.

    from transload_hub.network import network, ops

    @network(image=(1, 3, 32, 32))
    def classifier(image):
        x = ops.Conv(image, weights, bias, kernel_shape=(3, 3), pads=(1, 1, 1, 1), do_relu=True)
        return {"probabilities": ops.Softmax(x.mean((2, 3)) @ head, axis=-1)}

    classifier(photo)                        # run it
    print(classifier)                        # look at it
    classifier.convert("tosa", "build")      # and on to any target

Every op of the hub is a function in `ops`, made from its declaration (`functions`); ops of other dialects, a plugin's, are in
`ops.NAME`. Tensors know numpy's operators (`tensor`). The module is an ordinary one, as a reader would give it.
"""

from .functions import Ops, call_of, ops
from .network import Network, network
from .tensor import Tensor, constant, quantized, scope

__all__ = ["Network", "Ops", "Tensor", "call_of", "constant", "network", "ops", "quantized", "scope"]
