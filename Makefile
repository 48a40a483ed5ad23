# nopfire. "make help" lists the targets.
# CGO is off everywhere but for the race detector, which needs it.
export CGO_ENABLED = 0

GO          ?= go
STATICCHECK  = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM    = $(GO) run gotest.tools/gotestsum@v1.13.0
FUZZTIME    ?= 10s
BENCHTIME   ?= 1s
TESTFLAGS   ?=

# Where it must build. linux/amd64 and linux/arm64 fire; every other platform
# is here because emit lives in other people's programs and must not stop them
# from building: the rest of the 64-bit machines that elfgen writes objects for,
# 32-bit Linux, the desktop systems of developers, and wasm.
PLATFORMS = linux/amd64 linux/arm64 linux/riscv64 linux/s390x linux/ppc64le \
	linux/386 linux/arm darwin/arm64 windows/amd64 freebsd/amd64 js/wasm

.PHONY: build test race buildmodes test-arm64 check lint crossbuild bench peers fuzz man generate vmtest help

## build: the nopfire binary, static, in bin/
build:
	$(GO) build -trimpath -o bin/nopfire ./cmd/nopfire

## test: every test that this machine can run; ends with what was skipped and why
test:
	$(GOTESTSUM) --format pkgname-and-test-fails --hide-summary=output -- $(TESTFLAGS) ./...

## race: the application side under the race detector (needs cgo and a C compiler)
race:
	CGO_ENABLED=1 $(GO) test -race -short ./emit/... ./urdt/... ./internal/argument ./internal/call ./internal/image

## buildmodes: the exactly-once test under -race, as a PIE and inside a cgo program (needs root)
buildmodes:
	CGO_ENABLED=1 $(GO) test -race -short -count 1 -run ExactlyOnce ./selftests
	$(GO) test -buildmode=pie -short -count 1 -run ExactlyOnce ./selftests
	CGO_ENABLED=1 $(GO) test -tags emitter_cgo -short -count 1 -run ExactlyOnce ./selftests

## test-arm64: the tests of the application side under qemu-user (package qemu-user-static)
test-arm64:
	./selftests/arm64.sh

## check: everything a change must pass before it is committed: lint, cross builds, tests
check: lint crossbuild test

## lint: gofmt, go vet, staticcheck, and go.mod as "go mod tidy" wants it
lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(STATICCHECK) ./...
	$(GO) mod tidy -diff

## crossbuild: build everything, and compile the tests, for every platform
crossbuild:
	@for p in $(PLATFORMS); do \
		echo "build $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build ./... || exit 1; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) vet ./... || exit 1; \
	done

## bench: the benchmarks of the fire path, of loading, and of peers beside them
bench:
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./elfgen/... ./emit/... ./urdt/... ./selftests/...

## peers: nopfire list and trace beside readelf, bpftrace and bcc's tools (needs root and some minutes)
peers:
	$(GO) run ./selftests/peers

## vmtest: the tests that depend on the kernel, on Debian's 6.1 and 6.12 under qemu (needs its packages and apt)
vmtest:
	$(GO) run ./selftests/vm -j 2

# Inputs of interest are made small with a few tries only: large ones would take
# all the time else.
## fuzz: each fuzz target for FUZZTIME (default 10s)
fuzz:
	@for pkg in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "fuzz $$pkg $$f"; \
			$(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg || exit 1; \
		done; \
	done

## man: the manual pages, in bin/man/man1; "man -M bin/man nopfire-trace" shows one
man: build
	mkdir -p bin/man/man1
	bin/nopfire man bin/man/man1

## generate: remake generated files; CI fails when that changes anything
generate:
	$(GO) generate ./...

## help: this list
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)
