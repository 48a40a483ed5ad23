// Command httpserver is a web server whose requests can be traced while it
// runs. Start it, then in another terminal
//
//	sudo nopfire trace -p $(pidof httpserver) 'httpserver:*'
//
// and ask for http://localhost:8080/hello/you. Nothing is measured and next to
// nothing is paid as long as nobody traces.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"
)

func main() {
	addr := flag.String("addr", "localhost:8080", "listen on this address")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is done.
func run(ctx context.Context, addr string) error {
	p, err := newProbes()
	if err != nil {
		// Where probes cannot be made the server is a server all the same.
		log.Printf("no probes: %v", err)
	}
	defer p.Close()

	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s, pid %d\n", l.Addr(), os.Getpid())

	srv := &http.Server{Handler: p.Wrap(routes()), ReadHeaderTimeout: 5 * time.Second}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		stopped <- srv.Shutdown(grace)
	})
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// routes is the application itself, which knows nothing of probes.
func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "Hello, %s!\n", r.PathValue("name"))
	})
	return mux
}
