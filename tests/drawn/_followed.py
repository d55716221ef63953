"""What a message tells its reader to type, and the line that somebody types who does it to the letter."""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import click

WORD = r"""(?:\$'(?:\\.|[^'\\])*'|'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"`])+"""
OPTION = re.compile(rf"(?<![\w'\"-])(--?[a-z][\w-]*)(?:(=| )({WORD}))?")
NO_PLACE = "a guess of nothing that was typed"
UNREADABLE = "no line of a shell:"
TELLING = ("targets", "plugins", "passes", "inspect", "ops", "coverage")  # which make nothing
PROSE = ("of", "or", "and", "makes", "gives", "says", "say", "has", "takes", "names", "asks", "sets", "in", "for", "without", "a")
PLACEHOLDER = re.compile(r"[A-Z]{2,}(?:[:=,x.]+[A-Z]+)*(?:\[[^\]]*\])?|\.\.\.")


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def finding(self) -> str:
        """What is wrong, without what to do about it: the same again is no progress."""
        lines = [line for line in self.err.splitlines() if not line.lstrip().startswith(("→", "note:", "warning:"))]
        return "\n".join(line for line in lines if line.startswith("error:") or line.lstrip().startswith("•"))

    @property
    def hints(self) -> list[str]:
        """What to do, a text for each that stands behind an arrow, joined where it goes on in the next line."""
        return [line.strip() for line in re.findall(r"→ (.*(?:\n(?! *[•→]|error:| *note:| *-v).*)*)", self.err)]


def typed(words: Sequence[str], folder: Path) -> Said:
    """The command line with these words, in the folder, in this process."""
    from transload.cli import run

    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        code = run(list(words))
    return Said(code, out.getvalue(), err.getvalue())


def words_of(line: str) -> list[str] | None:
    """The words of a line as bash takes them; None where it is no line."""
    made = subprocess.run(["bash", "-c", f"set -f; HOME=/nowhere; printf '%s\\0' {line}"], capture_output=True, check=False)
    if made.returncode or made.stderr:
        return None
    return [part.decode("utf-8", "surrogateescape") for part in made.stdout.split(b"\0")[:-1]]


def commands(text: str) -> Iterator[list[str]]:
    """Commands that stand in a text: between backticks, or behind a colon to the end of the line."""
    for found in re.finditer(r"(`|: |^ *)transload (?=[a-z])", text, re.MULTILINE):
        rest = text[found.end():].partition("\n")[0]
        ends = [match.start() for match in re.finditer("`", rest)] if found[1] == "`" else [len(rest)]
        for end in ends:
            words = words_of(rest[:end])
            if words is not None:
                yield words
                break
        else:
            yield [UNREADABLE, rest]


def known_options(command: str) -> dict[str, click.Parameter]:
    from transload.cli.app import app

    found = app.get_command(click.Context(app), command)
    parameters = found.params if found else ()
    return {word: parameter for parameter in parameters for word in (*parameter.opts, *parameter.secondary_opts)}


def options(text: str, known: Mapping[str, click.Parameter]) -> list[list[tuple[str, str | None]]]:
    """Options with values that a hint names, those that stand beside each other together."""
    groups: list[list[tuple[str, str | None]]] = []
    end = -1
    for found in OPTION.finditer(text):
        parameter = known.get(found[1])
        if parameter is None:
            continue
        value = None if is_flag(parameter) else found[3]
        if value in PROSE:
            value = None
        if value is not None:
            words = words_of(value.rstrip(",;).:") or "''")
            value = words[0] if words else value
        if groups and text[end:found.start()].strip() == "":
            groups[-1].append((found[1], value))
        else:
            groups.append([(found[1], value)])
        end = found.end() - len(found[3]) + len(found[3].rstrip(",;).:")) if value is not None else found.end(1)
    return groups


def changed(words: list[str], group: Sequence[tuple[str, str | None]], known: Mapping[str, click.Parameter]) -> list[str]:
    """The line with these options: in the place of the same one, but where one may be said often, of another name."""
    for option, value in group:
        parameter = known[option]
        kept: list[str] = []
        rest = iter(words)
        many = isinstance(parameter, click.Option) and parameter.multiple
        for word in rest:
            name, equals, at = word.partition("=")
            if name not in (*parameter.opts, *parameter.secondary_opts) or not word.startswith("-"):
                kept.append(word)
                continue
            old = at if equals else next(rest, "") if value is not None else None
            unnamed = option == "--input" and "=" not in (old or "")  # which is what it is told to be
            if many and old is not None and value is not None and named(option, old) != named(option, value) and not unnamed:
                kept += [f"{name}={old}"] if equals else [name, old]
        words = kept + ([option] if value is None else [option, value])
    return words


def named(option: str, value: str) -> str:
    """What a repeated option is of: an input's name, before its sizes and its element type, or before what it is set to."""
    if option != "--shape":
        return value.partition("=")[0]
    name, _, last = value.rpartition(":")
    sizes = re.fullmatch(r"\[?[\d?x,]*(SIZE)?[\dx?SIZE]*\]?|scalar", last)
    return name if sizes or ":" not in name else name.rpartition(":")[0]


def without(words: list[str], option: str, known: Mapping[str, click.Parameter]) -> list[str]:
    """The line without an option."""
    parameter = known[option]
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word.partition("=")[0] in (*parameter.opts, *parameter.secondary_opts):
            if "=" not in word and not is_flag(parameter):
                next(rest, None)
        else:
            kept.append(word)
    return kept


def follow(words: list[str], said: Said, fill: Callable[[str, str], str | None]) -> list[str] | str:
    """The line that the message's first hint leads to, or a word or two why it leads to none.

    `fill` gives what stands for a placeholder: a name of an option, or a command's own word, and the text of it.
    """
    known = known_options(words[0])
    for hint in [hint for hint in said.hints if not hint.startswith("as ")]:  # "as NAME=SIZE" tells a form, and no value
        guess = re.search(r"[Dd]id you mean ('.*?'|\".*?\"|[^\s'\"]+?)\?(?:\s|;|$)", hint)
        if guess is not None:
            return _guessed(words, said, guess[1])
        for command in commands(hint):
            if command[0] not in TELLING:
                return command if command[0] == UNREADABLE else _filled(command, fill)
        left = [f"--{word}" for word in re.findall(r"leave out (?:--)?([a-z-]+)", hint) if f"--{word}" in known]
        if not left and re.match(r"leave (it|them|one of them) out|leave out one", hint):
            left = [word for word in re.findall(r"--[a-z-]+", said.finding) if word in known][:1]
        if left and left[0] in known:
            return without(words, left[0], known)
        for group in options(hint, known):
            new = [(option, value if value is None or not unfilled(option, value) else fill(option, value))
                   for option, value in group if value is not None or is_flag(known[option])]
            if new and len(new) == len(group) and all(value is not None or is_flag(known[option]) for option, value in new):
                return changed(words, new, known)
    guessed = re.search(r"No such \w+ '(.*)'.*Did you mean (?:one of: )?(.*)\?", said.err)
    if guessed is not None:  # of several, the one that looks most like it
        said_for = re.findall(r"[\w-]+", guessed[2])
        typed_letters = sorted(guessed[1])
        return _guessed(words, said, max(said_for, key=lambda word: SequenceMatcher(None, sorted(word), typed_letters).ratio()))
    return "placeholder" if any("--" in hint or "transload " in hint for hint in said.hints) else "refused"


def unfilled(option: str, value: str) -> bool:
    return PLACEHOLDER.fullmatch(value) is not None or (option == "--shape" and "SIZE" in value.rpartition(":")[2])


def is_flag(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and parameter.is_flag


def _guessed(words: list[str], said: Said, guess: str) -> list[str] | str:
    """The line with the nearest name where the wrong one stood: the one that the message quotes, and the line has."""
    right = guess[1:-1] if guess[0] in "'\"" else guess
    right = right.replace("\\n", "\n").replace("\\t", "\t").replace("\\'", "'").replace("\\\\", "\\")
    found = re.findall(r"(?<!\w)'((?:\\.|[^'])*)'(?!\w)|\"((?:\\.|[^\"])*)\"|(?: |^)(--?[\w-]+)", said.finding)
    wrongs = [part.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\") for quoted in found for part in quoted if part]
    for fits in (str.__eq__, lambda word, wrong: wrong in re.split("[=:,]", word), str.__contains__):
        for wrong in wrongs:
            for place, word in enumerate(words):
                if wrong != right and fits(word, wrong):
                    return [*words[:place], word.replace(wrong, right, 1), *words[place + 1:]]
    return NO_PLACE


def _filled(words: list[str], fill: Callable[[str, str], str | None]) -> list[str] | str:
    made = []
    for place, word in enumerate(words):
        new = fill(words[place - 1] if place else "", word) if PLACEHOLDER.fullmatch(word) else word
        if new is None:
            return "placeholder"
        made.append(new)
    return made
