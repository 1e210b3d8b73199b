# Completion of bash for sheaf: commands, options and files. The help output of the commands supplies the lists.
_sheaf() {
  local word=${COMP_WORDS[COMP_CWORD]} command=
  [ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ -z "$command" ] && [[ $word != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sheaf --help 2>/dev/null | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p')" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sheaf $command --help 2>/dev/null | grep -oE '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,')" -- "$word")
  fi
}
complete -o bashdefault -o default -F _sheaf sheaf
