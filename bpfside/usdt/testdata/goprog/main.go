// The program goprog defines probes at run time and fires them as its standard
// input says: a line "fire N" fires goapp:values, "more" loads goapp:extra, and
// "extra" fires that. Each is answered by a line.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nopfire/nopfire/emit"
)

type item struct {
	ID   int32
	Name string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	app, err := emit.NewProvider("goapp", nil)
	if err != nil {
		return err
	}
	defer app.Close()
	values, err := emit.NewProbe7[int64, string, uint8, bool, float64, error, *item](app, "values", &emit.ProbeOptions{
		Args:      []string{"n", "text", "small", "ok", "ratio", "err", "item"},
		Semaphore: len(os.Args) > 1 && os.Args[1] == "semaphore",
	})
	if err != nil {
		return err
	}
	if err := app.Load(); err != nil {
		return err
	}
	fmt.Println("ready")
	var extra emit.Probe1[time.Duration]
	more := &extra // inert
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		verb, _, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "fire":
			var n int64
			if _, err := fmt.Sscanf(in.Text(), "fire %d", &n); err != nil {
				return err
			}
			enabled := values.Enabled()
			values.Fire(n, fmt.Sprintf("text %d", n), uint8(n), n > 0, float64(n)/2, errors.New("went wrong"), &item{ID: 7})
			fmt.Println("fired", enabled)
		case "more":
			if more, err = emit.NewProbe1[time.Duration](app, "extra", nil); err != nil {
				return err
			}
			if err := app.Load(); err != nil {
				return err
			}
			fmt.Println("loaded")
		case "extra":
			more.Fire(time.Second)
			fmt.Println("fired", more.Enabled())
		}
	}
	return in.Err()
}
