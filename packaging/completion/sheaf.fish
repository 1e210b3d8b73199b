# Completion of fish for sheaf: commands, options and files. The help output of the commands supplies the lists.
function __sheaf_commands
    sheaf --help 2>/dev/null | sed -n '/^Subcommands:/,$s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end
function __sheaf_options
    set -l words (commandline -opc)
    sheaf $words[2] --help 2>/dev/null | grep -oE '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,'
end
complete -c sheaf -n __fish_use_subcommand -f -a '(__sheaf_commands)'
complete -c sheaf -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__sheaf_options)'
