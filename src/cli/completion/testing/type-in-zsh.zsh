# zsh -f type-in-zsh.zsh FOLDER LINE…: types each line and Tab into an interactive zsh, and prints what the line has become.
# FOLDER has the completions. A terminal is the only place where zsh completes anything.
zmodload zsh/zpty
zpty -b shell 'TERM=dumb zsh -f -i'
zpty -w shell 'PS1=; fpath=('$1' $fpath); autoload -Uz compinit; compinit -u -D; show() { print -r -- "LINE[$BUFFER]"; }; zle -N show; bindkey "^T" show; print REA""DY'

# Reads until the text has come.
until_text() {
  local all= part=
  repeat 1200; do
    if zpty -r -t shell part; then all+=$part; else sleep 0.05; fi
    [[ $all =~ $1 ]] && return 0
  done
  print -ru2 -- "there is no $1 in: $all"
  return 1
}

until_text READY || exit 1
shift
for line; do
  # Tab, Ctrl-T, and Ctrl-U for an empty line.
  zpty -w -n shell "$line"$'\t\x14\x15'
  until_text 'LINE\[([^]]*)\]' || exit 1
  print -r -- "$match[1]"
done
zpty -d shell
