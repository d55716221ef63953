"""Structure-aware fuzzing: numbers, op codes, shapes, attributes and tokens changed in valid files of every format.

    python -m tests.fuzz --count 20000 --workers 2        # or: make fuzz

A case is a number: it decides the format, the file, the changes and what is done with it (`cases`). `pool` runs cases in
child processes that are limited in processor time (60 s, however busy the machine is; ten minutes by the clock) and memory,
`__main__` counts what became of them.
"""
