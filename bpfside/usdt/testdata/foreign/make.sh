#!/usr/bin/env bash
# Makes the fixtures in this directory from Debian's packages: NAME.elf.gz, which
# strip/main.go describes, and NAME.notes, what "readelf -n" says of the whole
# file. The fixtures are committed; this script is here to tell where they come
# from, and to make new ones. "make generate" leaves it alone, as the packages of
# a release are replaced by newer ones now and then.
#
# The packages of other machines come through an apt of its own, so that the one
# of this machine stays as it is.
set -euo pipefail
cd "$(dirname "$0")"
out=$PWD
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/strip" ./strip

# machine, release, and the packages with the files in them
while read -r arch release packages; do
	root=$dir/$arch
	mkdir -p "$root"/lists/partial "$root"/cache/archives/partial "$root"/sources
	: >"$root/status"
	# The stanza of the main archive is enough. It is the first one.
	sed -n "/^\$/q; s/^Suites:.*/Suites: $release/; p" /etc/apt/sources.list.d/debian.sources >"$root/sources/debian.sources"
	apt=(apt-get -qq
		-o Dir::State="$root" -o Dir::State::Lists="$root/lists" -o Dir::State::status="$root/status"
		-o Dir::Cache="$root/cache" -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$root/sources"
		-o APT::Architecture="$arch" -o APT::Architectures="$arch" -o APT::Sandbox::User=root)
	"${apt[@]}" update
	for entry in $packages; do
		package=${entry%%=*} file=${entry#*=}
		(cd "$root" && "${apt[@]}" download "$package")
		dpkg -x "$root/${package}"_*.deb "$root/files"
		elf=$(find "$root/files" -path "*/$file" -type f)
		name=$arch-${package//+/x}
		"$dir/strip" "$elf" >"$out/$name.elf.gz"
		LC_ALL=C readelf -n "$elf" | sed -n '/Provider:/,$p' | grep -E '^ +(Provider|Name|Location|Arguments):' >"$out/$name.notes"
		echo "$name: $(dpkg -f "$root/${package}"_*.deb Version), $(grep -c Provider: "$out/$name.notes") notes"
	done
done <<-END
	arm64 bookworm postgresql-15=bin/postgres libpython3.11=libpython3.11.so.1.0
	armhf bookworm postgresql-15=bin/postgres libpython3.11=libpython3.11.so.1.0
	i386 bookworm postgresql-15=bin/postgres libpython3.11=libpython3.11.so.1.0
	ppc64el bookworm postgresql-15=bin/postgres libpython3.11=libpython3.11.so.1.0
	s390x bookworm postgresql-15=bin/postgres libpython3.11=libpython3.11.so.1.0
	mips64el bookworm postgresql-15=bin/postgres libpython3.11=libpython3.11.so.1.0
	riscv64 trixie postgresql-17=bin/postgres libpython3.13=libpython3.13.so.1.0
END
