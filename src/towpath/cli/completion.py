"""`towpath completion bash | zsh | fish`: the words that a shell completes after `towpath`.

The script is made from the parser, the recipes and the registries, so it knows every command and
option, and the names of recipes, weighters, data sets and fields, without calling towpath while one
types. It is written into a file once (`towpath completion bash > FILE`) and after an upgrade.
"""

import argparse
import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console

from towpath.cli.parser import Commands, UsageError, add_command
from towpath.wording import nearest

FILES, FOLDERS = "@files", "@folders"
"""stand for what the shell itself completes"""
KINDS: Mapping[str, tuple[str, ...]] = {
    "RECIPE": ("@recipes", FILES),
    "RUN": (FOLDERS,),
    "FOLDER": (FOLDERS,),
    "DIR": (FOLDERS,),
    "FILE": (FILES,),
    "A,B": ("@weighters", "all", "referee"),
    "SECTION": ("@sections",),
}
"""what the values of arguments are, by the word that the help shows for them"""
NAMES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("recipes", "show"): ("@recipes",),
    ("recipes", "copy"): ("@recipes",),
    ("weighters", "show"): ("@weighters",),
    ("data", "preview"): ("@sets", FILES),
    ("data", "fetch"): ("@sets",),
    ("data", "verify"): ("@sets",),
}
"""what NAME is, which several commands take"""
OF_FIELDS: Mapping[str, tuple[str, ...]] = {
    "--data.name": ("@sets", FILES),
    "--backbone.name": ("@backbones",),
    "--learner.name": ("@learners",),
    "--optimizer.name": ("@optimizers",),
    "--weighter.name": ("@weighters",),
}
"""what the values of fields of a recipe are, where they are names; elsewhere files are offered"""


@dataclass(frozen=True)
class CommandWords:
    """What may follow one command."""

    path: tuple[str, ...]
    """the words of the command: `data`, `fetch`"""
    commands: tuple[str, ...]
    """its own commands, for one that has some"""
    options: tuple[str, ...]
    values: tuple[str, ...]
    """words for its arguments without a dash"""
    of_options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """words for the value of each option that takes one; empty where there are none"""


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "completion",
        "A script for your shell that completes commands, options and names: bash, zsh or fish.",
        "towpath completion bash",
        run,
    )
    parser.add_argument("shell", metavar="SHELL", help=", ".join(SHELLS))


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Print the script of a shell."""
    from towpath.cli.main import command_line

    shell = arguments.shell
    if shell not in SHELLS:
        raise UsageError(
            f"towpath completion found {shell!r}; expected {', '.join(SHELLS)}."
            f"{nearest(shell, SHELLS)}"
        )
    words = expanded(list(command_words(command_line())), known_names())
    console.out(SHELLS[shell](words), highlight=False, end="")


def known_names() -> dict[str, tuple[str, ...]]:
    """Return the names that values are completed to, by the word that stands for them."""
    from towpath.backbones import BACKBONES
    from towpath.data.registry import SETS
    from towpath.learners import LEARNERS
    from towpath.recipes import shipped_recipes
    from towpath.recipes.fields import component_names, recipe_fields
    from towpath.recipes.optimizers import OPTIMIZERS
    from towpath.weighters.registry import WEIGHTERS

    listed = recipe_fields()
    components = [name for name in component_names() if " " not in name]
    sections = [one.name.partition(".")[0] for one in listed if "." in one.name]
    return {
        "@recipes": tuple(shipped_recipes()),
        "@weighters": tuple(WEIGHTERS),
        "@backbones": tuple(BACKBONES),
        "@learners": tuple(LEARNERS),
        "@optimizers": tuple(OPTIMIZERS),
        "@sets": tuple(SETS),
        "@sections": tuple(sorted({*sections, *components} - {"probes[]"})),
        "@fields": tuple(
            dict.fromkeys(f"--{o.name}" for o in listed if "." in o.name and "[" not in o.name)
        ),
    }


def command_words(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = ()
) -> Iterator[CommandWords]:
    """Yield what may follow each command below a parser, the parser's own first.

    Args:
        parser: the parser of the program, or of one of its commands.
        path: the words of that command.
    """
    inner: dict[str, argparse.ArgumentParser] = {}
    options: list[str] = []
    values: list[str] = []
    of_options: dict[str, tuple[str, ...]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            inner = dict(action.choices)
            continue
        words = _words(path, action)
        if not action.option_strings:
            values += words
            continue
        options += [option for option in action.option_strings if option.startswith("--")]
        if action.nargs != 0:
            of_options |= dict.fromkeys(action.option_strings, words)
    for pattern in parser.get_default("takes_overrides") or ():
        options.append(f"--{pattern}")
        of_options |= {name: OF_FIELDS[name] for name in fnmatch.filter(OF_FIELDS, f"--{pattern}")}
    yield CommandWords(path, tuple(inner), tuple(options), tuple(values), of_options)
    for name, one in inner.items():
        yield from command_words(one, (*path, name))


def _words(path: tuple[str, ...], action: argparse.Action) -> tuple[str, ...]:
    """Return the words, or what stands for them, of the values of an argument."""
    if path == ("completion",) and not action.option_strings:
        return tuple(SHELLS)
    metavar = str(action.metavar)
    if metavar == "NAME" and action.option_strings:
        return {"--logger": ("tensorboard", "mlflow", "wandb"), "--engine": ("local", "ray")}.get(
            action.option_strings[0], ()
        )
    return NAMES.get(path, ()) if metavar == "NAME" else KINDS.get(metavar, ())


def expanded(
    commands: Sequence[CommandWords], names: Mapping[str, tuple[str, ...]]
) -> list[CommandWords]:
    """Return the same with the names in place of the words that stand for them.

    Args:
        commands: what may follow each command.
        names: the names, by the word that stands for them; options such as `--data.*` stand for the
            fields among them.
    """

    def meant(word: str) -> Sequence[str]:
        return fnmatch.filter(names["@fields"], word) if "*" in word else names.get(word, (word,))

    def told(words: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for word in words for name in meant(word))

    return [
        CommandWords(
            one.path,
            one.commands,
            told(one.options),
            told(one.values),
            {option: told(words) for option, words in one.of_options.items()},
        )
        for one in commands
    ]


def _split(words: Sequence[str]) -> tuple[str, str]:
    """Return the plain words in one string, and which entries of folders count: `file`, `dir`."""
    entries = "file" if FILES in words else "dir" if FOLDERS in words else ""
    return " ".join(word for word in words if word not in (FILES, FOLDERS)), entries


# bash, and zsh, which runs scripts of bash's kind

BASH = """\
# completion of towpath for bash; written by: towpath completion bash
_towpath() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev="" command="" words="" entries="" i
    (( COMP_CWORD > 0 )) && prev=${COMP_WORDS[COMP_CWORD-1]}
    for (( i = 1; i < COMP_CWORD; i++ )); do
        case "$command ${COMP_WORDS[i]}" in
            @commands@) command="$command ${COMP_WORDS[i]}" ;;
        esac
    done
    case "$command|$prev" in
@options@
        *'|--'*.*) entries='file' ;;
        *)
            case "$command" in
@values@
            esac
            ;;
    esac
    # of a list such as a,b,c the last word is completed
    local before=""
    if [[ $entries == "list" ]]; then
        entries=""
        if [[ $cur == *,* ]]; then before="${cur%,*},"; cur="${cur##*,}"; fi
    fi
    COMPREPLY=( $(compgen -P "$before" -W "$words" -- "$cur") )
    if [[ $entries == "file" ]]; then COMPREPLY+=( $(compgen -f -- "$cur") ); fi
    if [[ $entries == "dir" ]]; then COMPREPLY+=( $(compgen -d -- "$cur") ); fi
}
complete -o filenames -o bashdefault -F _towpath towpath
"""


def bash_script(commands: Sequence[CommandWords]) -> str:
    """Return the script for bash."""
    paths = [f"' {' '.join(one.path)}'" for one in commands if one.path]
    options, values = [], []
    for one in commands:
        command = "".join(f" {word}" for word in one.path)
        for option, words in one.of_options.items():
            plain, entries = _split(words)
            if option == "--weighters":
                entries = "list"
            options.append(f"        '{command}|{option}') words='{plain}' entries='{entries}' ;;")
        plain, entries = _split(one.values)
        every = " ".join([*one.commands, *plain.split()])
        values.append(
            f"                '{command}') if [[ $cur == -* ]]; "
            f"then words='{' '.join(one.options)}'; else words='{every}' entries='{entries}'; fi ;;"
        )
    return (
        BASH.replace("@commands@", "|".join(paths))
        .replace("@options@", "\n".join(options))
        .replace("@values@", "\n".join(values))
    )


def zsh_script(commands: Sequence[CommandWords]) -> str:
    """Return the script for zsh, which takes bash's through its own `bashcompinit`."""
    return (
        "# completion of towpath for zsh; written by: towpath completion zsh\n"
        "autoload -Uz compinit bashcompinit\n"
        "(( $+functions[compdef] )) || compinit\n"
        f"bashcompinit\n{bash_script(commands)}"
    )


# fish


FISH = """\
# completion of towpath for fish; written by: towpath completion fish
function __towpath_at
    # whether the words before the cursor, options aside, begin with these; none for no words
    set -l found
    for word in (commandline -opc)[2..-1]
        string match -q -- '-*' $word; or set -a found $word
    end
    if test -z "$argv"
        test -z "$found"
    else
        string match -q -- "$argv *" "$found "
    end
end
complete -c towpath -f
"""


def fish_script(commands: Sequence[CommandWords]) -> str:
    """Return the script for fish."""
    lines = []
    for one in commands:
        begin = f"complete -c towpath -n '{' '.join(('__towpath_at', *one.path))}'"
        plain, entries = _split(one.values)
        values = _fish_values(" ".join([*one.commands, *plain.split()]), entries)
        if values:
            lines.append(f"{begin} {values}")
        for option in one.options:
            line = f"{begin} -l {option.removeprefix('--')}"
            if option in one.of_options:
                line = f"{line} -r {_fish_values(*_split(one.of_options[option]))}".rstrip()
            elif "." in option:
                line = f"{line} -r -F"
            lines.append(line)
    return FISH + "\n".join(lines) + "\n"


def _fish_values(plain: str, entries: str) -> str:
    """Return the words of a value as arguments of fish's `complete`, with files and folders."""
    return " ".join([*([f"-a '{plain}'"] if plain else []), *(["-F"] if entries else [])])


SHELLS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
"""scripts by the name of the shell"""
