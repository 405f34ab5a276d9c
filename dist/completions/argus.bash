# shellcheck shell=bash
# Completion of argus for bash. The program itself knows what may stand where
# (`argus --complete WORD...`); this passes the words on.
_argus() {
	local line="${COMP_LINE:0:COMP_POINT}" word candidates candidate
	local -a words
	COMPREPLY=()
	# Words by blanks alone: bash cuts at = and : too, argus does not.
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	word=${words[-1]}
	candidates=$("${words[0]}" --complete "${words[@]:1}" 2>/dev/null) || return
	case $candidates in
	:command*)
		if declare -F _comp_command_offset >/dev/null; then
			_comp_command_offset "${candidates#:command }"
		elif declare -F _command_offset >/dev/null; then
			_command_offset "${candidates#:command }"
		else
			compopt -o default
		fi
		return
		;;
	*:files) compopt -o default ;;
	*:folders) compopt -o dirnames ;;
	esac
	while IFS=$'\t' read -r candidate _; do
		[[ $candidate == :* ]] && continue
		# what bash cut off before the last = or : must not come again
		COMPREPLY+=("${candidate:${#word}-${#2}}")
	done <<<"$candidates"
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:,=] ]] && compopt -o nospace
}
complete -F _argus argus
