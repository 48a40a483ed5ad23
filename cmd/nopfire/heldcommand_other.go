//go:build !unix

package main

import "errors"

func replaceBy(string, []string) error { return errors.ErrUnsupported }
