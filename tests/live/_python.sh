# The Pythons that are here of the versions that are known, Debian's and those of pyenv.
known_pythons() {
	local version folder
	for version in 3.9 3.10 3.11 3.12 3.13; do
		for folder in /usr/bin "$HOME/.pyenv/versions/$version".*/bin; do
			[ ! -x "$folder/python$version" ] || echo "$folder/python$version"
		done
	done
}
