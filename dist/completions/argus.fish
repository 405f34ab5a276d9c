# Completion of argus for fish. The program itself knows what may stand where
# (`argus --complete WORD...`); this passes the words on.
function __argus_complete
	set -l words (commandline -opc) (commandline -ct)
	for line in ($words[1] --complete $words[2..-1] 2>/dev/null)
		switch $line
			case ':files'
				__fish_complete_path (string replace -r '.*=' '' -- $words[-1])
			case ':folders'
				__fish_complete_directories (string replace -r '.*=' '' -- $words[-1])
			case ':command *'
				set -l from (math (string replace ':command ' '' -- $line) + 1)
				complete -C "$(string join ' ' -- (string escape -- $words[$from..-2]) $words[-1])"
			case '*'
				echo $line
		end
	end
end
complete -c argus -f -a '(__argus_complete)'
