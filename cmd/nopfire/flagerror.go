package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError says what is wrong with the value of a flag that is a number. What pflag
// says of it is for who knows Go: "strconv.ParseInt: parsing "abc": invalid syntax".
func flagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &invalid) || !errors.As(err, &number) {
		return err
	}
	flag := invalid.GetFlag()
	name := "--" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand + ", " + name
	}
	return fmt.Errorf("invalid argument %q for %q flag: %s", invalid.GetValue(), name, wantOf(flag, number.Err))
}

// wantOf says what the value of a flag should be, which the placeholder of its usage
// tells.
func wantOf(flag *pflag.Flag, cause error) string {
	placeholder, _ := pflag.UnquoteUsage(flag)
	switch {
	case errors.Is(cause, strconv.ErrRange):
		return "out of range"
	case flag.Value.Type() == "bool":
		return "want true or false"
	case placeholder == "PID":
		return "want the number of a process"
	case placeholder == "TID":
		return "want the number of a thread"
	case placeholder == "UID":
		return "want the number of a user"
	}
	return "want a number"
}
