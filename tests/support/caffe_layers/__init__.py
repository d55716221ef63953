"""What Caffe's layers compute, written in numpy from their documentation, and generated cases of each: the judge of `caffe`."""
