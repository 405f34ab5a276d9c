#!/bin/bash
# Completion in the shells themselves: bash, fish, and zsh on a terminal of its own. What
# is offered is tested in golden/cli_complete; here, that it arrives.
. "$HERE/live/_lib.sh"
scripts=$HERE/../dist/completions

# bash_offers LINE: what a TAB at the end of the line brings
bash_offers() {
	bash -c '
		. "$1"
		COMP_LINE=$2 COMP_POINT=${#2} COMPREPLY=()
		compopt() { echo "[$*]"; }
		last=${2##*[ =:]}
		_argus argus "$last" ""
		[ ${#COMPREPLY[@]} = 0 ] || printf "%s\n" "${COMPREPLY[@]}"' - "$scripts/argus.bash" "$1"
}
[ "$(bash_offers 'argus wh')" = why ] || fail "bash: $(bash_offers 'argus wh')"
[ "$(bash_offers 'argus record --level=')" = $'lean\nfull' ] || fail "bash: $(bash_offers 'argus record --level=')"
[ "$(bash_offers 'argus record --level l')" = lean ] || fail "bash: $(bash_offers 'argus record --level l')"
[ "$(bash_offers 'argus record --stacks waits,wak')" = waits,wakes ] || fail "bash: $(bash_offers 'argus record --stacks waits,wak')"
bash_offers "argus record --probe $ARGUS:mai" | grep -qx main || fail "bash: no functions of a probe's file"
[ "$(bash_offers 'argus why ')" = '[-o default]' ] || fail "bash: files: $(bash_offers 'argus why ')"
[ "$(bash_offers 'argus start -d ')" = '[-o dirnames]' ] || fail "bash: folders: $(bash_offers 'argus start -d ')"

if command -v fish >/dev/null; then
	fish_offers() { HOME=$WORK fish -N -c "source $scripts/argus.fish; complete -C '$1'" | cut -f 1; }
	[ "$(fish_offers 'argus wh')" = why ] || fail "fish: $(fish_offers 'argus wh')"
	[ "$(fish_offers 'argus record --level=f')" = --level=full ] || fail "fish: $(fish_offers 'argus record --level=f')"
	touch there.trace
	[ "$(fish_offers 'argus why ther')" = there.trace ] || fail "fish: files: $(fish_offers 'argus why ther')"
	fish_offers 'argus record -- tou' | grep -qx touch || fail "fish: a command's name"
fi

if command -v zsh >/dev/null; then
	mkdir -p zsh/functions && cp "$scripts/_argus" zsh/functions
	cat >zsh/.zshrc <<-'END'
		PS1= PS2= RPS1=
		fpath=($ZDOTDIR/functions $fpath)
		autoload -Uz compinit && compinit -u -D
		finish() { print -r -- "<<$BUFFER>>"; exit; }
		zle -N finish && bindkey '^X' finish
		print ready
	END
	cat >zsh/type <<-'END'
		# a line and a TAB typed into a zsh on a pseudo-terminal; prints what the line became
		zmodload zsh/zpty
		zpty z "ZDOTDIR=$1 TERM=dumb zsh -d -i"
		zpty -r -m z seen '*ready*'
		zpty -w -n z "$2"$'\t\x18'
		zpty -r -m z seen '*<<*>>*'
		print -r -- ${${seen##*<<}%%>>*}
	END
	zsh_completes() { timeout 30 zsh -f zsh/type "$WORK/zsh" "$1"; }
	[ "$(zsh_completes 'argus wh')" = 'argus why ' ] || fail "zsh: $(zsh_completes 'argus wh')"
	[ "$(zsh_completes 'argus record --level=f')" = 'argus record --level=full ' ] || fail "zsh: $(zsh_completes 'argus record --level=f')"
	[ "$(zsh_completes 'argus why ther')" = 'argus why there.trace ' ] || fail "zsh: files: $(zsh_completes 'argus why ther')"
fi
