#!/bin/sh
# A backend in shell: reads one JSON object a line, and answers each batch. Here it only counts; a real one would
# run a command for each line, or collect the lines and program them at "commit".
set -eu

field() { printf '%s' "$line" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

set=0 removed=0
while IFS= read -r line; do
  case $line in
    '{"t":"welcome"'*) echo "this is node $(field node)" >&2 ;;
    '{"t":"begin","full":true'*) echo 'everything anew' >&2; set=0 removed=0 ;;
    '{"t":"begin"'*) set=0 removed=0 ;;
    *'"op":"put"'*) set=$((set + 1)) ;;
    *'"op":"del"'*) removed=$((removed + 1)) ;;
    '{"t":"commit"'*)
      echo "$set set, $removed removed" >&2
      printf '{"t":"ack","to":"%s"}\n' "$(field to)"
      ;;
    '{"t":"bye"'*) exit 0 ;;
  esac
done
