"""What tests share: builders of small graphs and models, catalogues of cases, and independent judges."""
