"""`.tosa` files: the flatbuffer form of TOSA graphs (schema `tosa.fbs`, specification 1.0 and 1.1)."""
