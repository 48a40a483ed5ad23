//go:build !unix

package main

import (
	"context"
	"os"
)

func keepBrokenPipes() {}

func isBrokenPipe(error) bool { return false }

func untilUnread(ctx context.Context, _ *os.File) context.Context { return ctx }
