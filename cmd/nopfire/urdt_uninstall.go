package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nopfire/nopfire/urdt/abi"
)

// newURDTUninstall returns the command that removes the object.
func newURDTUninstall() *cobra.Command {
	var flags placeFlags
	cmd := &cobra.Command{
		Use:   "uninstall [--dir D | --user]",
		Short: "Remove what install put in place",
		Long: `Remove the files of nopfire urdt install, and their directory if nothing else is
in it. Processes that have the library mapped go on with it; those that are
started later have another object.`,
		Example: `  sudo nopfire urdt uninstall
  nopfire urdt uninstall --user`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := flags.place()
			if err != nil {
				return err
			}
			removed := 0
			for _, file := range place.files() {
				switch err := os.Remove(file); {
				case err == nil:
					fmt.Fprintf(cmd.OutOrStdout(), "%s: removed\n", file)
					removed++
				case !isAbsent(err):
					return err
				}
			}
			if removed == 0 {
				return fmt.Errorf("nothing is installed in %s", filepath.Dir(place.library))
			}
			if dir := filepath.Dir(place.library); filepath.Base(dir) == abi.UserDir {
				_ = os.Remove(dir) // fails if anything else is in it, which is right
			}
			return nil
		},
	}
	flags.add(cmd)
	return cmd
}
