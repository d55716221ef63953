"""The dialect `tf_executor`: graphs as TensorFlow's executor runs them, with dead values, control edges, and frames of loops."""
