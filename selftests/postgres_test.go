//go:build linux

package selftests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"

	"github.com/nopfire/nopfire/bpfside/trace"
	"github.com/nopfire/nopfire/bpfside/usdt"
	"github.com/nopfire/nopfire/internal/testutils"
)

// A cluster is a PostgreSQL server that belongs to one test: its data and its
// socket are in a directory of its own, and it listens on no network.
type cluster struct {
	dir string
	bin string // the directory of the programs
}

// program returns the path of a program of the server's version.
func (c *cluster) program(name string) string { return filepath.Join(c.bin, name) }

// startPostgres makes a cluster and starts its server, as an ordinary user: the
// programs refuse to run as root. It ends with the test.
func startPostgres(t *testing.T) *cluster {
	t.Helper()
	postgres := testutils.Oracle(t, "/usr/lib/postgresql/15/bin/postgres")
	c := &cluster{bin: filepath.Dir(postgres)}
	// Not below t.TempDir, where other users may not go, and short: the path
	// of a socket has 107 bytes at most.
	var err error
	if c.dir, err = os.MkdirTemp("", "nopfire-pg"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(c.dir) })
	attr := new(syscall.SysProcAttr)
	if os.Geteuid() == 0 {
		uid, gid := ordinaryUser()
		attr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
		if err := os.Chown(c.dir, int(uid), int(gid)); err != nil {
			t.Fatal(err)
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(c.program(name), args...)
		cmd.Dir, cmd.SysProcAttr = c.dir, attr
		cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
		return cmd
	}
	data := filepath.Join(c.dir, "data")
	if out, err := command("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	cmd := command("postgres", "-D", data, "-k", c.dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "autovacuum=off", "-c", "shared_buffers=16MB", "-c", "max_connections=10")
	server := testutils.StartCmd(t, cmd)
	t.Cleanup(func() { // before it is killed, so that nothing is left behind
		cmd.Process.Signal(os.Interrupt)
		server.Wait()
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := exec.Command(c.program("pg_isready"), "-q", "-h", c.dir).Run()
		if err == nil {
			return c
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not answer: %v\n%s", err, server.Stderr())
		}
	}
}

// ordinaryUser returns the ids of postgres, or of nobody.
func ordinaryUser() (uid, gid uint32) {
	uid, gid = 65534, 65534
	if u, err := user.Lookup("postgres"); err == nil {
		if id, err := strconv.ParseUint(u.Uid, 10, 32); err == nil {
			uid = uint32(id)
		}
		if id, err := strconv.ParseUint(u.Gid, 10, 32); err == nil {
			gid = uint32(id)
		}
	}
	return uid, gid
}

// A connection is a running psql with one backend process.
type connection struct {
	*testutils.Child
	backend int // the process that works for it
}

func (c *cluster) connect(t *testing.T) *connection {
	t.Helper()
	conn := &connection{Child: testutils.Start(t, c.program("psql"), "-X", "-q", "-A", "-t", "-h", c.dir, "-U", "postgres", "-d", "postgres")}
	answer := conn.query("select pg_backend_pid();")
	var err error
	if conn.backend, err = strconv.Atoi(answer); err != nil {
		t.Fatalf("psql says %q\n%s", answer, conn.Stderr())
	}
	return conn
}

// query runs a query that has one row as its answer, and returns that.
func (c *connection) query(sql string) string {
	c.WriteLine(sql)
	return c.ReadLine()
}

// The queries that mark the window within which both tracers count.
const (
	warmQuery  = "select 'warm';"
	startQuery = "select 'start';"
	endQuery   = "select 'end';"
)

// postgresCounts is a script for bpftrace that counts in the window. The clause
// that opens it comes last, as clauses are attached in their order: when "warm"
// is printed, all of them are.
const postgresCounts = `
usdt:%[1]s:postgresql:transaction__start  /@on/ { @starts++; }
usdt:%[1]s:postgresql:transaction__commit /@on/ { @commits++; }
usdt:%[1]s:postgresql:transaction__abort  /@on/ { @aborts++; }
usdt:%[1]s:postgresql:query__start {
	if (str(arg0) == "select 'end';") {
		printf("counts %%d %%d %%d %%d\n", @queries, @starts, @commits, @aborts);
		@on = 0;
	} else if (@on) { @queries++; }
}
usdt:%[1]s:postgresql:query__done {
	if (str(arg0) == "select 'warm';") { printf("warm\n"); }
	if (str(arg0) == "select 'start';") { @on = 1; }
}`

// startPostgresCounts starts bpftrace on a backend, and returns when it counts.
func startPostgresCounts(t *testing.T, postgres string, conn *connection) *testutils.Child {
	t.Helper()
	cmd := exec.Command(testutils.Oracle(t, "bpftrace"), "-B", "line", "-p", strconv.Itoa(conn.backend), "-e", fmt.Sprintf(postgresCounts, postgres))
	tracer := testutils.StartCmd(t, cmd)
	t.Cleanup(func() { tracer.Interrupt() }) // killed, it would leave its semaphores raised
	if line := tracer.ReadLine(); !strings.HasPrefix(line, "Attaching ") {
		t.Fatalf("bpftrace says %q\n%s", line, tracer.Stderr())
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn.query(warmQuery)
		if line, err := tracer.TryReadLine(100 * time.Millisecond); err == nil && line == "warm" {
			return tracer
		}
		if time.Now().After(deadline) {
			t.Fatalf("bpftrace sees no query\n%s", tracer.Stderr())
		}
	}
}

// A PostgreSQL server is traced while it works, by us and by bpftrace at once:
// the text of every query, and as many transactions begun, committed and aborted
// as there were.
func TestPostgres(t *testing.T) {
	testutils.NeedBPF(t)
	testutils.Oracle(t, "bpftrace")
	c := startPostgres(t)
	postgres := c.program("postgres")
	conn := c.connect(t)
	conn.query("create table t (n int) \\; select 'created';")

	patterns := []string{"postgresql:query__start", "postgresql:query__done", "postgresql:transaction__*"}
	inProcess, err := usdt.ProcessTargets(conn.backend, patterns...)
	if err != nil || len(inProcess.Problems) > 0 {
		t.Fatal(err, inProcess.Problems)
	}
	inFile, err := usdt.FileTargets(postgres, patterns...)
	if err != nil || len(inFile.Problems) > 0 {
		t.Fatal(err, inFile.Problems)
	}
	options := &trace.Options{Strings: []string{"arg1"}}
	for _, tc := range []struct {
		name    string
		targets []*usdt.Target
		pid     int
		path    string
	}{
		{"traced by pid", inProcess.Targets, conn.backend, ""},
		{"traced by file", inFile.Targets, 0, postgres},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q := trace.Query{PID: tc.pid, Options: options}
			for _, p := range patterns {
				q.Clauses = append(q.Clauses, trace.Clause{Path: tc.path, Pattern: p})
			}
			s, err := trace.Start(q)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if p := s.Problems(); len(p) > 0 {
				t.Fatal(p)
			}
			for _, target := range tc.targets {
				if n := semaphoreOf(t, conn.backend, target); n != 1 {
					t.Errorf("%s: semaphore is %d while it is traced once", target, n)
				}
			}
			oracle := startPostgresCounts(t, postgres, conn)
			conn.query(startQuery)
			want := postgresWork(conn)
			conn.query(endQuery)

			got := readPostgres(t, s, conn.backend)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-did +traced:\n%s", diff)
			}
			bpf := oracle.ReadLine()
			for bpf == "warm" {
				bpf = oracle.ReadLine()
			}
			ours := fmt.Sprintf("counts %d %d %d %d", len(got.Queries), got.Starts, got.Commits, got.Aborts)
			if bpf != ours {
				t.Errorf("bpftrace says %q, we say %q", bpf, ours)
			}
			t.Logf("%s, as bpftrace", ours)
		})
	}
	for _, method := range []usdt.Method{usdt.UprobeMulti, usdt.PerfEvent} {
		t.Run("counted by a program, "+method.String(), func(t *testing.T) {
			testPostgresCounter(t, conn, method)
		})
	}
	// All tracers are gone: nobody has left a semaphore raised.
	for _, target := range inProcess.Targets {
		if n := semaphoreOf(t, conn.backend, target); n != 0 {
			t.Errorf("%s: semaphore is %d after all tracers have gone", target, n)
		}
	}
}

// testPostgresCounter attaches a program that counts to the commits of a backend.
func testPostgresCounter(t *testing.T, conn *connection, method usdt.Method) {
	counter, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer counter.Close()
	spec := &ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "Dual MIT/GPL", Instructions: asm.Instructions{
		asm.LoadMapValue(asm.R1, counter.FD(), 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}}
	if err := usdt.PrepareProgram(spec, method); err != nil {
		t.Fatal(err)
	}
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	found, err := usdt.ProcessTargets(conn.backend, "postgresql:transaction__commit")
	if err != nil {
		t.Fatal(err)
	}
	link, err := usdt.AttachUSDT(prog, found.Targets[0], &usdt.Options{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	want := uint64(postgresWork(conn).Commits)
	if err := link.Close(); err != nil {
		t.Error(err)
	}
	conn.query("select 'not counted any more';")
	var got uint64
	if err := counter.Lookup(uint32(0), &got); err != nil || got != want {
		t.Errorf("%d commits counted, want %d (%v)", got, want, err)
	}
}

// postgresTally is what happened in a backend.
type postgresTally struct {
	Queries                 []string
	Starts, Commits, Aborts int
}

// postgresWork makes a backend work and returns what it did.
func postgresWork(conn *connection) postgresTally {
	var did postgresTally
	query := func(sql string) {
		conn.query(sql)
		did.Queries = append(did.Queries, sql)
	}
	for i := range 50 {
		query(fmt.Sprintf("select %d, 'ünïcode \t text';", i))
		did.Starts++
		did.Commits++
	}
	// psql sends what \; joins as one query.
	for i := range 10 {
		conn.query(fmt.Sprintf("begin \\; insert into t values (%d) \\; commit \\; select 1;", i))
		did.Queries = append(did.Queries, fmt.Sprintf("begin ; insert into t values (%d) ; commit ; select 1;", i))
		did.Starts += 2
		did.Commits += 2
	}
	for i := range 5 {
		conn.query(fmt.Sprintf("begin \\; delete from t where n = %d \\; rollback \\; select 1;", i))
		did.Queries = append(did.Queries, fmt.Sprintf("begin ; delete from t where n = %d ; rollback ; select 1;", i))
		did.Starts += 2
		did.Commits++
		did.Aborts++
	}
	// Longer than the session keeps of a string.
	query("select length('" + strings.Repeat("x", 1000) + "');")
	did.Queries[len(did.Queries)-1] = did.Queries[len(did.Queries)-1][:trace.DefaultMaxString] + "…"
	did.Starts++
	did.Commits++
	return did
}

// readPostgres returns what the session saw of a backend in the window.
func readPostgres(t *testing.T, s *trace.Session, backend int) (got postgresTally) {
	t.Helper()
	on := false
	for ev, err := range s.Events(deadlineContext(t, 20*time.Second)) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.PID != backend {
			continue
		}
		var text string
		if strings.HasPrefix(ev.Probe, "query__") {
			var err error
			if text, err = stringValue(ev.Args[0]); err != nil {
				t.Errorf("%s: %v", ev, err)
			}
		}
		switch {
		case ev.Probe == "query__done" && text == startQuery:
			on = true
		case !on:
		case ev.Probe == "query__start" && text == endQuery:
			return got
		case ev.Probe == "query__start":
			got.Queries = append(got.Queries, text)
		case ev.Probe == "transaction__start":
			got.Starts++
		case ev.Probe == "transaction__commit":
			got.Commits++
		case ev.Probe == "transaction__abort":
			got.Aborts++
		}
	}
	t.Fatal("the events end before the last query")
	return got
}

// stringValue returns a string, with "…" where it was cut.
func stringValue(v trace.Value) (string, error) {
	s, ok := v.Value.(string)
	switch {
	case v.Err != nil:
		return "", v.Err
	case !ok:
		return "", errors.New("not a string: " + v.Type)
	case v.Truncated:
		s += "…"
	}
	return s, nil
}
