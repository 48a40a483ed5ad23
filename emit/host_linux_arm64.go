package emit

import (
	"github.com/nopfire/nopfire/elfgen"
	"github.com/nopfire/nopfire/elfgen/stapsdt"
)

func hostMachine() (stapsdt.Machine, error) { return stapsdt.ARM64, nil }

func hostForm() elfgen.NopForm { return elfgen.FormNop1 }
