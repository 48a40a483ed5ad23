package doctor_test

import (
	"fmt"

	"github.com/nopfire/nopfire/internal/doctor"
)

// Say what would help where something does not work.
func ExampleRun() {
	r := doctor.Run(0)
	for _, c := range r.Checks {
		if c.Status == doctor.Missing {
			fmt.Printf("%s: %s: %s\n", c.Name, c.Found, c.Remedy)
		}
	}
	if err := r.Err(); err != nil {
		fmt.Println("tracing does not work:", err)
	}
}
