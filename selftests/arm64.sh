#!/usr/bin/env bash
# Runs the tests of the application side as arm64 programs under qemu-user.
# qemu-user passes system calls on to this kernel and has no perf events or BPF:
# tests that need those skip, and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
if [ -z "$qemu" ]; then
	echo "arm64.sh: no qemu-aarch64-static (package qemu-user-static)" >&2
	if [ -n "${NOPFIRE_CI:-}" ]; then exit 1; fi
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Tools that read or run this machine's programs are no oracles here, and are not found:
# a fork of qemu-user with several threads can leave a child that waits for ever.
unset NOPFIRE_CI
for pkg in $(go list ./elfgen/... ./emit/... ./urdt/... ./internal/argument ./internal/call ./internal/image ./internal/sys ./internal/procmaps); do
	[ -n "$(go list -f '{{join .TestGoFiles ""}}{{join .XTestGoFiles ""}}' "$pkg")" ] || continue
	GOARCH=arm64 go test -c -o "$dir/test" "$pkg"
	echo "arm64 $pkg"
	(cd "$(go list -f '{{.Dir}}' "$pkg")" && PATH=/nonexistent "$qemu" "$dir/test" -test.short -test.timeout 10m)
done
